// Where the recordings of a sweep are: the values of a parameter from left to right.
import type { History, HistoryRow } from "../../api/types";
import { LEFT, RIGHT, scaleOf, type Scale } from "./layout";

/** Values that are this much apart, all above zero, are on a logarithmic axis. */
const LOGARITHMIC = 20;
const MOST_LABELS = 8;
/** Of a label; the tip at a point has the whole value. */
const MOST_LETTERS = 20;
/** Of a letter in the labels' font of 11 px, and between two labels. */
const LETTER_PX = 6.5;
const ROOM_PX = 8;

export interface Sweep extends Scale {
  /** The rows with both values, from left to right. */
  known: readonly number[];
  /** The values of the parameter that have a label. */
  marks: readonly { x: number; label: string }[];
  /** Of the recordings with the same value, the median. */
  middle: readonly { x: number; value: number }[];
}

type Parameter = HistoryRow["parameters"][number];

const parameterOf = (row: HistoryRow | undefined, name: string): Parameter | undefined =>
  row?.parameters.find((one) => one.name === name);

export const textOf = (row: HistoryRow, name: string): string | null => parameterOf(row, name)?.value ?? null;

/** Null where no recording has both the parameter and the figure. */
export function sweepOf(result: History, name: string, width: number): Sweep | null {
  const scale = scaleOf(result, width);
  const { rows, figure } = result;
  const of = rows.map((row) => parameterOf(row, name));
  const some = rows.flatMap((row, i) => (of[i] && row[figure] !== null ? [i] : []));
  const values = distinct(some.flatMap((i) => of[i] ?? []));
  if (scale === null || values.length === 0) return null;
  const place = placesOf(values, width);
  const x = (row: number): number => place.get(of[row]?.value ?? "") ?? LEFT;
  const every = Math.ceil(values.length / MOST_LABELS);
  const shown = values.filter((_, i) => i % every === 0);
  return {
    ...scale,
    x,
    known: some.sort((a, b) => x(a) - x(b) || a - b),
    marks: apart(shown.map(({ value }) => ({ x: place.get(value) ?? LEFT, label: clipped(value) }))),
    middle: values.map(({ value }) => ({
      x: place.get(value) ?? LEFT,
      value: median(some.flatMap((i) => (of[i]?.value === value ? (rows[i]?.[figure] ?? []) : []))),
    })),
  };
}

const clipped = (text: string): string =>
  text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;

/** From left to right, the labels that do not cover the one before. */
function apart(labels: Sweep["marks"]): Sweep["marks"] {
  let end = Number.NEGATIVE_INFINITY;
  return labels.filter(({ x, label }) => {
    const half = (label.length * LETTER_PX) / 2;
    if (x - half < end + ROOM_PX) return false;
    end = x + half;
    return true;
  });
}

/** Numbers in their order, texts in that of the alphabet. */
function distinct(parameters: readonly Parameter[]): Parameter[] {
  const found = new Map(parameters.map((one) => [one.value, one]));
  return [...found.values()].sort(
    (a, b) => (a.number ?? Number.NaN) - (b.number ?? Number.NaN) || a.value.localeCompare(b.value),
  );
}

/** Numbers by their size, if all are; else one beside the other. */
function placesOf(values: readonly Parameter[], width: number): Map<string, number> {
  const inner = width - LEFT - RIGHT;
  const numbers = values.flatMap(({ number }) => number ?? []);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const isNumeric = numbers.length === values.length && low < high;
  const isLogarithmic = low > 0 && high >= LOGARITHMIC * low;
  const share = ({ number }: Parameter, i: number): number => {
    if (!isNumeric || number === null) return (i + 0.5) / values.length;
    const part = isLogarithmic
      ? Math.log(number / low) / Math.log(high / low)
      : (number - low) / (high - low);
    return 0.04 + 0.92 * part;
  };
  return new Map(values.map((one, i) => [one.value, LEFT + inner * share(one, i)]));
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  const [below, above] = [sorted[Math.ceil(half) - 1] ?? 0, sorted[Math.floor(half)] ?? 0];
  return (below + above) / 2;
}
