// Where the recordings and the values of the runs page's chart are.
import type { History } from "../../api/types";
import type { Tick } from "../../widgets/charts/ticks";
import { ticksOf } from "./figures";

export const HEIGHT = 200;
export const LEFT = 76;
export const RIGHT = 16;
export const TOP = 20;
export const BOTTOM = 22;
export const RADIUS = 4;

export interface Scale {
  x: (row: number) => number;
  y: (value: number) => number;
  /** Between two recordings. */
  gap: number;
  ticks: readonly Tick[];
}

/** Null without any value. */
export function scaleOf({ rows, figure, levels }: History, width: number): Scale | null {
  const values = rows.map((row) => row[figure]).filter((value) => value !== null);
  if (values.length === 0) return null;
  const highest = Math.max(...values, ...levels.map((level) => level.high));
  // From 0: half the height is half the time. A wide band may leave the chart.
  const most = Math.min(highest, 2 * Math.max(...values)) * 1.05 || 1;
  const inner = width - LEFT - RIGHT;
  const gap = inner / rows.length;
  return {
    x: (row) => LEFT + gap * (row + 0.5),
    y: (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - Math.min(value, most) / most),
    gap,
    ticks: ticksOf(figure, most),
  };
}
