// The points and roofs of a result, as the chart has them.
import type { Roofline, RooflineRow } from "../../api/types";
import { count } from "../../lib/format";
import { MARGIN, type ChartPoint, type ChartRoof } from "./layout";

export const keyOf = (row: RooflineRow): string => String(row.longest_row);

/** The rows that have a place: those with FLOPs and bytes. */
export function pointsOf({ rows, roofs }: Pick<Roofline, "rows" | "roofs">): ChartPoint[] {
  const rates = new Map(roofs.map((r) => [r.name, r.rate]));
  const bandwidth = roofs.find((r) => r.kind === "memory")?.rate ?? Number.POSITIVE_INFINITY;
  return rows.flatMap((row) => {
    const { flops_per_byte: intensity, tflop_per_s: tera } = row;
    if (intensity === null || tera === null || intensity <= 0 || tera <= 0) return [];
    const rate = tera * 1e12;
    return [
      {
        key: keyOf(row),
        name: row.name,
        intensity,
        rate,
        ...rateLimits(row, rate),
        attainable: finite(
          Math.min(bandwidth * intensity, rates.get(row.roof ?? "") ?? Number.POSITIVE_INFINITY),
        ),
        ns: row.device_ns,
        product: row.product,
      },
    ];
  });
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** The rate at the longest and the shortest time; without a known bound it may be any. */
function rateLimits({ device_ns: ns, device_bound_ns: bound }: RooflineRow, rate: number) {
  if (bound === 0) return { low: null, high: null };
  if (bound === null) return { low: 0, high: Number.POSITIVE_INFINITY };
  return {
    low: (rate * ns) / (ns + bound),
    high: bound < ns ? (rate * ns) / (ns - bound) : Number.POSITIVE_INFINITY,
  };
}

/** The roofs with some time of work under them; all of them if there is none. */
export function roofsOf({ roofs, device_ns }: Pick<Roofline, "roofs" | "device_ns">): ChartRoof[] {
  const used = roofs.filter((r) => r.device_ns > LEAST_SHARE * (device_ns ?? 0));
  return (used.length > 0 ? used : roofs).map((r) => ({
    key: r.name,
    rate: r.rate,
    memory: r.kind === "memory",
    seen: r.source === "best_seen",
    reachable: r.reachable,
  }));
}

const LEAST_SHARE = 0.001;
const OUTSIDE_SHARE = 0.005;

/** The points around which the axes lie: the largest, with nearly all of the time, and those between
 * them. A call of 1 us must not squeeze the rest. */
export function withinReach(points: readonly ChartPoint[]): ChartPoint[] {
  const order = [...points].sort((a, b) => b.ns - a.ns);
  const enough = (1 - OUTSIDE_SHARE) * order.reduce((sum, p) => sum + p.ns, 0);
  let [sum, most] = [0, 0];
  while (most < order.length && (sum < enough || most < FEW)) {
    sum += order[most]?.ns ?? 0;
    most += 1;
  }
  const chosen = order.slice(0, most);
  const inside = (value: (p: ChartPoint) => number): ((p: ChartPoint) => boolean) => {
    const low = Math.min(...chosen.map(value)) / MARGIN;
    const high = Math.max(...chosen.map(value)) * MARGIN;
    return (p) => value(p) >= low && value(p) <= high;
  };
  const [across, up] = [inside((p) => p.intensity), inside((p) => p.rate)];
  return points.filter((p) => across(p) && up(p));
}

const FEW = 12;

const UNITS: readonly [number, string][] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** `312 TFLOP/s`, `1.56 TB/s`: powers of ten. */
export const perSecond = (rate: number, memory = false): string =>
  scaled(rate).replace(/\d$/, "$& ") + (memory ? "B/s" : "FLOP/s");

/** `312 T`. */
export function scaled(value: number): string {
  const [size, prefix] = UNITS.find(([size]) => Number(value.toPrecision(3)) >= size) ?? [1, ""];
  return prefix === "" ? number(value) : `${number(value / size)} ${prefix}`;
}

/** `118 GFLOP`. */
export const operations = (flops: number): string => perSecond(flops).replace("/s", "");

/** Three significant digits. */
export function number(value: number): string {
  return value >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(3)));
}
