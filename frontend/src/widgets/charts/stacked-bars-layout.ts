// Where the bars of a chart are, and the paths of their parts.
import { niceTicks } from "./ticks";

/** One of the parts that the bars are stacked of. */
export interface BarPart {
  key: string;
  label: string;
  /** A CSS color. */
  fill: string;
}

export interface Bar {
  key: string;
  label: string;
  total: number;
  /** The length of each part, by its key. */
  parts: Readonly<Record<string, number>>;
  /** Cut off by the end of the recording: drawn faint, with a dashed outline. */
  incomplete: boolean;
  /** How far off an inferred total and its parts may be; null where that is not known. */
  bound?: number | null;
  bounds?: Readonly<Record<string, number | null>>;
}

export const HEIGHT = 220;
export const LEFT = 60;
export const BOTTOM = 20;
export const TOP = 8;
const WIDEST = 64;

export interface Scale {
  ticks: readonly number[];
  /** From the left edge of one bar to that of the next. */
  slot: number;
  barWidth: number;
  /** The left edge of a bar. */
  x: (bar: number) => number;
  y: (ns: number) => number;
}

export function scaleOf(bars: readonly Bar[], width: number): Scale {
  const most = Math.max(1, ...bars.map((b) => b.total + (b.bound ?? 0)));
  const ticks = niceTicks(most);
  const top = Math.max(most, ticks.at(-1) ?? 0);
  const slot = Math.min(WIDEST * 1.4, (width - LEFT - 8) / Math.max(1, bars.length));
  const barWidth = Math.max(0.5, Math.min(WIDEST, slot < 4 ? slot : slot - Math.min(8, slot * 0.25)));
  return {
    ticks,
    slot,
    barWidth,
    x: (bar) => LEFT + 4 + bar * slot + (slot - barWidth) / 2,
    y: (ns) => HEIGHT - BOTTOM - (ns / top) * (HEIGHT - BOTTOM - TOP),
  };
}

/** How far off the bars may be, as one path. */
export const whiskers = (bars: readonly Bar[], { x, y, barWidth }: Scale): string =>
  bars
    .map((b, i) =>
      barWidth < 4 || !b.bound
        ? ""
        : whisker(x(i) + barWidth / 2, y(b.total + b.bound), y(Math.max(0, b.total - b.bound))),
    )
    .join("");

const whisker = (x: number, top: number, low: number): string =>
  `M${x - 3} ${top}h6M${x - 3} ${low}h6M${x} ${top}V${low}`;

/** The path of a part in whole bars, and in those that are cut off. */
interface Paths {
  whole: string;
  cut: string;
}

/** The paths of each part, in the order of the parts. */
export function pathsOf(
  bars: readonly Bar[],
  parts: readonly BarPart[],
  { x, y, barWidth: width }: Scale,
): Paths[] {
  const paths = parts.map((): Paths => ({ whole: "", cut: "" }));
  bars.forEach((bar, i) => {
    let base = 0;
    parts.forEach(({ key }, part) => {
      const ns = bar.parts[key] ?? 0;
      const path = paths[part];
      if (ns <= 0 || !path) return;
      const low = y(base);
      base += ns;
      // A hairline between the parts: they differ by more than color.
      const height = low - y(base);
      const gap = height > 3 ? 1 : 0;
      path[bar.incomplete ? "cut" : "whole"] +=
        `M${px(x(i))} ${px(low - gap)}h${px(width)}V${px(y(base))}h${px(-width)}z`;
    });
  });
  return paths;
}

const px = (at: number): string => at.toFixed(2);
