// A part of the inspector that folds; whether it is open is the reader's, for all that has such a part.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { store, stored } from "../../preference";
import "./section.css";

const KEY = "inspector.sections";

interface SectionProps {
  /** By this name it is remembered, and found in tests. */
  name: string;
  title: ComponentChildren;
  /** What the title leaves open, muted. */
  note?: ComponentChildren;
  /** Whether it is folded until the reader opens it. */
  folded?: boolean;
  /** Drawn only while it is open. */
  children: ComponentChildren;
}

export function Section({ name, title, note, folded = false, children }: SectionProps) {
  const [open, setOpen] = useState(() => (changed().has(name) ? folded : !folded));
  return (
    <details
      class="inspector-section"
      open={open}
      data-testid={`part-${name}`}
      onToggle={(e) => {
        const now = e.currentTarget.open;
        if (now === open) return;
        setOpen(now);
        remember(name, now === folded);
      }}
    >
      <summary>
        {title} {note && <small class="muted">{note}</small>}
      </summary>
      {open && children}
    </details>
  );
}

/** The sections that are other than they are at first. */
const changed = (): Set<string> => new Set((stored(KEY) ?? "").split(",").filter(Boolean));

function remember(name: string, other: boolean): void {
  const names = changed();
  if (other) names.add(name);
  else names.delete(name);
  store(KEY, [...names].sort().join(",") || null);
}
