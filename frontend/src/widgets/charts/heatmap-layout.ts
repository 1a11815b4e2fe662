// Rows by columns as colors: how far each value is from the median of its column.

export interface Heat {
  rows: number;
  columns: number;
  /** −1 to 1, row by row: less or more than the median of the column; NaN where nothing is known. */
  shade: Float64Array;
  /** What a shade of 1 is, as a share of the median. */
  scale: number;
}

/** Smaller differences than this share of the median are no color to speak of. */
const LEAST_SCALE = 0.05;
/** A few far ones would make all others pale. */
const MOST_OF = 0.98;

/** `values` row by row; null is unknown. */
export function heat(values: readonly (number | null)[], columns: number): Heat {
  const rows = columns > 0 ? Math.floor(values.length / columns) : 0;
  const shade = new Float64Array(rows * columns).fill(NaN);
  const sizes: number[] = [];
  const whole = median(values.filter((v) => v !== null)) ?? 0;
  for (let c = 0; c < columns; c += 1) {
    const known: number[] = [];
    for (let r = 0; r < rows; r += 1) {
      const value = values[r * columns + c];
      if (value !== null && value !== undefined) known.push(value);
    }
    const middle = median(known);
    if (middle === null) continue;
    // A median of 0 (nobody waits, as a rule) is no measure: then that of all is.
    const unit = middle || whole || 1;
    for (let r = 0; r < rows; r += 1) {
      const value = values[r * columns + c];
      if (value === null || value === undefined) continue;
      const off = (value - middle) / unit;
      shade[r * columns + c] = off;
      sizes.push(Math.abs(off));
    }
  }
  sizes.sort((a, b) => a - b);
  const scale = Math.max(sizes[Math.floor((sizes.length - 1) * MOST_OF)] ?? 0, LEAST_SCALE);
  for (let i = 0; i < shade.length; i += 1)
    shade[i] = Math.max(-1, Math.min(1, (shade[i] as number) / scale));
  return { rows, columns, shade, scale };
}

/** Rows in order; `worst` puts those first that are most above the medians, on average. */
export function rowOrder({ rows, columns, shade }: Heat, worst: boolean): number[] {
  const order = Array.from({ length: rows }, (_, r) => r);
  if (!worst) return order;
  const mean = order.map((r) => {
    const known = [...shade.subarray(r * columns, (r + 1) * columns)].filter((s) => !Number.isNaN(s));
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : -2;
  });
  return order.sort((a, b) => (mean[b] as number) - (mean[a] as number) || a - b);
}

/** How high a row is, and how many rows share a line of the picture: with more rows than lines the
 * farthest of them is what is seen, so that none can hide. */
export function lines(
  rows: number,
  most: number,
  highest: number,
): { height: number; each: number; count: number } {
  const each = Math.max(1, Math.ceil(rows / most));
  const count = Math.ceil(rows / each);
  return { height: Math.max(1, Math.min(highest, Math.floor(most / Math.max(1, count)))), each, count };
}

/** The shade farthest from 0 among some rows of a column; NaN if nothing is known of any. */
export function farthest({ columns, shade }: Heat, rows: readonly number[], column: number): number {
  let found = NaN;
  for (const row of rows) {
    const one = shade[row * columns + column] as number;
    if (!Number.isNaN(one) && !(Math.abs(found) >= Math.abs(one))) found = one;
  }
  return found;
}

function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}
