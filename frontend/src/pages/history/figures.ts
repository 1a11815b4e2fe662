// The figures of the runs page that have a trend.
import type { Options } from "../../api/types";
import { bytes, duration, percent } from "../../lib/format";
import { t } from "../../i18n";
import { byteTicks, niceTicks, timeTicks, type Tick } from "../../widgets/charts/ticks";

export type Figure = NonNullable<Options["history"]["figure"]>;

export const FIGURES: readonly Figure[] = ["step_ns", "utilization", "mfu", "memory_peak_bytes"];
export const LABELS: Readonly<Record<Figure, string>> = t.history.figures;

export function format(figure: Figure, value: number): string {
  if (figure === "step_ns") return duration(value);
  return figure === "memory_peak_bytes" ? bytes(value) : percent(value);
}

/** About four round values up to the greatest. */
export function ticksOf(figure: Figure, most: number): readonly Tick[] {
  if (figure === "step_ns") return timeTicks(0, most, 4);
  if (figure === "memory_peak_bytes") return byteTicks(0, most, 4);
  return niceTicks(most).map((at) => ({ at, label: percent(at) }));
}
