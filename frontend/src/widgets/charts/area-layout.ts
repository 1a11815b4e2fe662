// Where the points of an area chart are, and the paths of its lines and layers.

/** From this time on, until the next point. */
export interface Point {
  at: number;
  value: number;
  /** The line above the area; null draws none. */
  limit: number | null;
  /** What the value is made of, if the chart has layers. */
  parts?: readonly number[];
}

export interface Layer {
  label: string;
  fill: string;
  title?: string;
}

export const HEIGHT = 240;
export const LEFT = 76;
export const RIGHT = 12;
export const TOP = 26;
export const BASELINE = HEIGHT - 22;

/** The part of time and of values that the chart shows, and where these are on it. */
export interface Scale {
  start: number;
  end: number;
  low: number;
  high: number;
  /** Of the chart, and of the area between its edges. */
  width: number;
  inner: number;
  x: (at: number) => number;
  y: (value: number) => number;
  /** The time at a place, within the chart. */
  time: (px: number) => number;
}

export function scaleOf(points: readonly Point[], fit: boolean, width: number): Scale {
  const start = points[0]?.at ?? 0;
  const end = Math.max(start + 1, points.at(-1)?.at ?? 1);
  const { low, high } = extent(points, fit);
  const inner = Math.max(1, width - LEFT - RIGHT);
  return {
    start,
    end,
    low,
    high,
    width,
    inner,
    x: (at) => LEFT + ((at - start) / (end - start)) * inner,
    y: (value) => BASELINE - ((value - low) / (high - low)) * (BASELINE - TOP),
    time: (px) => Math.round(start + (Math.max(0, Math.min(inner, px - LEFT)) / inner) * (end - start)),
  };
}

/** The steps of a line. */
export function path(points: readonly Point[], { x, y }: Scale, key: "value" | "limit"): string {
  let found = "";
  for (const point of points) {
    const value = point[key];
    if (value === null) continue;
    const [px, py] = [x(point.at).toFixed(1), y(value).toFixed(1)];
    found += found === "" ? `M${px} ${py}` : `H${px}V${py}`;
  }
  return found;
}

/** The outline of a layer: its upper edge there, its lower edge back. What is negative has no height. */
export function layerPath(points: readonly Point[], layer: number, { x, y }: Scale): string {
  const upTo = (p: Point, count: number): number =>
    (p.parts ?? []).slice(0, count).reduce((sum, part) => sum + Math.max(0, part), 0);
  const edge = points.map(
    (p) => [x(p.at).toFixed(1), y(upTo(p, layer)).toFixed(1), y(upTo(p, layer + 1)).toFixed(1)] as const,
  );
  const there = edge.map(([px, , top], i) => (i === 0 ? `M${px} ${top}` : `H${px}V${top}`)).join("");
  const back = edge
    .map(([, low], i) => `V${low}H${edge[i]?.[0] ?? 0}`)
    .reverse()
    .join("");
  return `${there}${back}z`;
}

/** The point in force at a time. */
export function pointAt(points: readonly Point[], at: number): Point | null {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.at ?? Infinity) <= at) low = middle + 1;
    else high = middle;
  }
  return points[Math.max(0, low - 1)] ?? null;
}

/** What the axis shows: from 0, or if it is to fit, from a little below the least value of the area. */
export function extent(points: readonly Point[], fit: boolean): { low: number; high: number } {
  let [least, most] = [Infinity, 0];
  for (const { value, limit } of points) {
    least = Math.min(least, value);
    most = Math.max(most, value, fit ? value : (limit ?? value));
  }
  if (!fit) return { low: Math.min(0, least), high: Math.max(1, most * 1.06) };
  const room = Math.max(1, (most - least) * 0.08);
  return { low: least - room > 0 || least < 0 ? least - room : 0, high: most + room * 1.5 };
}
