// A key figure: title, value, and a note.
import { bytes, count, duration, exactDuration } from "../../lib/format";
import "./key-figure.css";

interface FigureProps {
  /** The result's field, for tests. */
  name: string;
  label: string;
  /** In other words than those of its unit. */
  value?: string;
  /** Exactly, for tests and the tooltip. */
  exact: number | null;
  unit: string;
  bound?: string;
  note?: string;
  help: string;
}

/** The value in its unit: ns and B as durations and sizes, others as counts. */
const shown = (exact: number | null, unit: string): string =>
  (unit === "ns" ? duration : unit === "B" ? bytes : count)(exact);

export function KeyFigure({ name, label, value, exact, unit, bound = "", note = "", help }: FigureProps) {
  const precise =
    exact === null || unit === "ns"
      ? exactDuration(exact)
      : `${exact.toLocaleString("en-US", { maximumFractionDigits: 6 })} ${unit}`;
  return (
    <div class="figure" data-testid={`figure-${name}`} data-value={exact ?? ""} title={`${help}\n${precise}`}>
      <div class="muted">{label}</div>
      <div class="big">
        {value ?? shown(exact, unit)}
        {bound && <small>{bound}</small>}
      </div>
      <div class="muted note">{note}</div>
    </div>
  );
}
