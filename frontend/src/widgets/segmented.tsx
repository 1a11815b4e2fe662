// A choice of a few, side by side.

interface SegmentedProps<T extends string> {
  label: string;
  choices: readonly { value: T; label: string; title?: string; disabled?: boolean }[];
  value: T;
  onPick: (value: T) => void;
}

export function Segmented<T extends string>({ label, choices, value, onPick }: SegmentedProps<T>) {
  return (
    <span class="segmented" role="group" aria-label={label}>
      {choices.map((c) => (
        <button key={c.value} type="button" aria-pressed={c.value === value} disabled={c.disabled === true && c.value !== value}
          title={c.title ?? c.label} data-testid={`group-${c.value}`} onClick={() => onPick(c.value)}>{c.label}</button>
      ))}
    </span>
  );
}
