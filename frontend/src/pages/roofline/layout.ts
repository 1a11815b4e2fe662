// Where points and roofs lie on the chart: both axes are logarithmic.

export interface ChartPoint {
  key: string;
  name: string;
  /** FLOP by byte, and FLOP/s: both greater than 0. */
  intensity: number;
  rate: number;
  /** The least and the greatest rate within the error bounds; null for what is measured. */
  low: number | null;
  high: number | null;
  /** Its device time: the area. */
  ns: number;
  /** What the roofs allow at its intensity; null without a roof. */
  attainable: number | null;
  /** Products of matrices are circles, other work is a square. */
  product: boolean;
}

export interface ChartRoof {
  key: string;
  /** FLOP/s, or byte/s of the memory. */
  rate: number;
  memory: boolean;
  /** The best sustained rate of the recording, which is no roof of the device. */
  seen: boolean;
  reachable: number | null;
}

export interface Scale {
  width: number;
  x: (intensity: number) => number;
  y: (rate: number) => number;
  /** The least and the greatest value of each axis. */
  intensities: readonly [number, number];
  rates: readonly [number, number];
}

export const HEIGHT = 360;
export const [LEFT, RIGHT, TOP, BOTTOM] = [76, 20, 14, 38];
/** Around the values of an axis. */
export const MARGIN = 2.5;
const LEAST_RANGE = 100;
const [SMALLEST_PX, LARGEST_PX] = [2.5, 20];

export function scaleOf(points: readonly ChartPoint[], roofs: readonly ChartRoof[], width: number): Scale {
  const bandwidth = roofs.find((r) => r.memory)?.rate ?? null;
  const ceilings = roofs.filter((r) => !r.memory).map((r) => r.rate);
  const ridges = bandwidth === null ? [] : ceilings.map((rate) => rate / bandwidth);
  const intensities = range([...points.map((p) => p.intensity), ...ridges]);
  const rates = range([...points.map((p) => p.rate), ...ceilings]);
  const across = (value: number, [low, high]: readonly [number, number]): number =>
    Math.log(value / low) / Math.log(high / low);
  return {
    width,
    intensities,
    rates,
    x: (value) => LEFT + across(value, intensities) * (width - LEFT - RIGHT),
    y: (value) => HEIGHT - BOTTOM - across(value, rates) * (HEIGHT - TOP - BOTTOM),
  };
}

/** A range around values, of at least two powers of ten. */
function range(values: readonly number[]): readonly [number, number] {
  if (values.length === 0) return [1, LEAST_RANGE];
  const low = Math.min(...values) / MARGIN;
  const high = Math.max(...values) * MARGIN;
  const more = Math.max(1, Math.sqrt(LEAST_RANGE / (high / low)));
  return [low / more, high * more];
}

/** The powers of ten in a range, at most about eight. */
export function decades([low, high]: readonly [number, number]): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / 8));
  const found: number[] = [];
  for (let power = first; power <= last; power += every) found.push(10 ** power);
  return found;
}

/** The radius of a point: its area grows with its time. */
export function radius(ns: number, most: number): number {
  return most > 0 ? Math.max(SMALLEST_PX, LARGEST_PX * Math.sqrt(ns / most)) : SMALLEST_PX;
}

/** A horizontal ceiling, from where the memory allows it to the chart's right edge. */
export function ceilingLine(rate: number, bandwidth: number | null, { intensities, x, y, width }: Scale) {
  const from = bandwidth === null ? intensities[0] : Math.max(intensities[0], rate / bandwidth);
  return { x1: Math.min(x(from), width - RIGHT), x2: width - RIGHT, y: y(rate) };
}

/** The slope of the memory's bandwidth, within the chart and up to the highest ceiling. */
export function slopeLine(bandwidth: number, top: number | null, { intensities, rates, x, y }: Scale) {
  const from = Math.max(intensities[0], rates[0] / bandwidth);
  const to = Math.min(intensities[1], Math.min(top ?? rates[1], rates[1]) / bandwidth);
  if (to <= from) return null;
  return { x1: x(from), y1: y(from * bandwidth), x2: x(to), y2: y(to * bandwidth) };
}

/** Whether the best rate of the recording has a line of its own: well below the ceiling. */
export const isDotted = ({ memory, rate, reachable }: ChartRoof): boolean =>
  !memory && reachable !== null && reachable <= 0.97 * rate;

/** The y of labels of lines, moved so that none covers another; the order stays. */
export function apart(ys: readonly number[], least: number): number[] {
  const order = ys.map((_, i) => i).sort((a, b) => (ys[a] ?? 0) - (ys[b] ?? 0));
  const placed = [...ys];
  let before = Number.NEGATIVE_INFINITY;
  for (const i of order) {
    before = Math.max(ys[i] ?? 0, before + least);
    placed[i] = before;
  }
  return placed;
}

/** The smallest of the points at a place, as it lies above the others; else the nearest, if it is a few
 * pixels away at most. */
export function pointAt(
  points: readonly ChartPoint[],
  scale: Scale,
  most: number,
  at: { x: number; y: number },
): number | null {
  let [best, least] = [-1, Number.POSITIVE_INFINITY];
  points.forEach((p, i) => {
    const size = radius(p.ns, most);
    const away = Math.hypot(scale.x(p.intensity) - at.x, scale.y(p.rate) - at.y) - size;
    // Any point that is hit comes before all that are not.
    const rank = away <= 0 ? size - LARGEST_PX - 1 : away;
    if (away <= SLACK_PX && rank < least) [best, least] = [i, rank];
  });
  return best < 0 ? null : best;
}

const SLACK_PX = 5;

/** The next point to the left or right, or with more or less time; the same at the ends. */
export function neighbor(points: readonly ChartPoint[], now: number | null, key: string): number | null {
  const by = (value: (p: ChartPoint) => number): number[] =>
    points.map((_, i) => i).sort((a, b) => value(points[a] as ChartPoint) - value(points[b] as ChartPoint));
  const orders: Record<string, readonly [number[], number]> = {
    ArrowRight: [by((p) => p.intensity), 1],
    ArrowLeft: [by((p) => p.intensity), -1],
    ArrowDown: [by((p) => -p.ns), 1],
    ArrowUp: [by((p) => -p.ns), -1],
    Home: [by((p) => -p.ns), -points.length],
    End: [by((p) => -p.ns), points.length],
  };
  const found = orders[key];
  if (!found || points.length === 0) return null;
  const [order, step] = found;
  if (now === null && Math.abs(step) === 1) return by((p) => -p.ns)[0] ?? null;
  const place = order.indexOf(now ?? 0) + step;
  return order[Math.max(0, Math.min(order.length - 1, place))] ?? null;
}
