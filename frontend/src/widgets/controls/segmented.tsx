// A choice of a few, side by side.
import { useLayoutEffect, useRef } from "preact/hooks";
import "./segmented.css";

interface SegmentedProps<T extends string> {
  label: string;
  choices: readonly { value: T; label: string; title?: string; disabled?: boolean }[];
  value: T;
  onPick: (value: T) => void;
}

/** The choice that was made last, and when (ms). */
let picked = { label: "", at: -Infinity };
const SOON_MS = 5000;

export function Segmented<T extends string>({ label, choices, value, onPick }: SegmentedProps<T>) {
  const group = useRef<HTMLSpanElement>(null);
  // Where a choice makes all of its page anew, the focus comes back to it.
  useLayoutEffect(() => {
    if (
      picked.label !== label ||
      performance.now() - picked.at > SOON_MS ||
      document.activeElement !== document.body
    )
      return;
    group.current?.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
  }, [label]);
  const pick = (one: T): void => {
    picked = { label, at: performance.now() };
    onPick(one);
  };
  return (
    <span class="segmented" role="group" aria-label={label} ref={group}>
      {choices.map((c) => (
        <button
          key={c.value}
          type="button"
          aria-pressed={c.value === value}
          disabled={c.disabled === true && c.value !== value}
          title={c.title ?? c.label}
          data-testid={`group-${c.value}`}
          onClick={() => pick(c.value)}
        >
          {c.label}
        </button>
      ))}
    </span>
  );
}
