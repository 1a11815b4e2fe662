// Ticks of an axis: places and labels.

export interface Tick {
  at: number;
  label: string;
}

/** About the width of a letter of a tick's label. */
export const LETTER_PX = 6.5;

const TIME: readonly [string, number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];
const BYTES: readonly [string, number][] = [
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
  ["B", 1],
];

/** About so many round times from start to end, in ns; all in one unit, with enough digits to differ. */
export function timeTicks(start: number, end: number, about: number): Tick[] {
  const rough = Math.max(1, (end - start) / Math.max(1, about));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
  return ticks(start, end, step, TIME);
}

/** About so many round sizes from low to high: powers of two apart, as sizes in GiB, MiB and KiB are. */
export function byteTicks(low: number, high: number, about: number): Tick[] {
  const rough = Math.max(1, (high - low) / Math.max(1, about));
  const step = 2 ** Math.ceil(Math.log2(rough));
  return ticks(low, high, step, BYTES);
}

/** The largest unit that the axis reaches and in which few digits tell the ticks apart. */
function ticks(low: number, high: number, step: number, units: readonly [string, number][]): Tick[] {
  const most = Math.max(Math.abs(low), Math.abs(high));
  const [unit, size] = units.find(([, n]) => most >= n && decimals(step / n) <= MOST_DIGITS) ??
    units.at(-1) ?? ["", 1];
  const digits = decimals(step / size);
  const found: Tick[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; i += 1) {
    found.push({ at: i * step, label: i === 0 ? "0" : `${fixed((i * step) / size, digits)} ${unit}` });
  }
  return found;
}

/** `1,234.50`. The first of `Intl`'s formats costs a page that has just been opened 30 ms. */
function fixed(x: number, digits: number): string {
  return x.toFixed(digits).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
}

const MOST_DIGITS = 4;

/** The digits after the point that a number needs, up to one more than are shown. */
function decimals(x: number): number {
  let digits = 0;
  while (digits <= MOST_DIGITS && Math.abs(x - Number(x.toFixed(digits))) > x * 1e-6) digits += 1;
  return digits;
}

/** Round values from 0 to just below or at the largest, about four. */
export function niceTicks(most: number): number[] {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
  const ticks: number[] = [];
  for (let i = 0; i * step <= most * 1.0001; i += 1) ticks.push(i * step);
  return ticks;
}
