// Numbers as people read them: three significant digits with a unit. What the trace does not
// tell is null and shown as a dash, never as 0.
import { t } from "../i18n";
import { count as counting } from "../i18n/count";

export const MISSING = "–";

const TIME_UNITS: readonly [string, number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
];
const BYTE_UNITS: readonly [string, number][] = [
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
];

/** `1.23 ms`; whole nanoseconds below 1 µs. */
export function duration(ns: number | null): string {
  if (ns === null) return MISSING;
  return scaled(ns, TIME_UNITS, "ns");
}

/** `1.234567 ms`: exact to the nanosecond, for a tooltip. */
export function exactDuration(ns: number | null): string {
  if (ns === null) return t.format.missing;
  const [unit, size] = TIME_UNITS.find(([, one]) => Math.abs(ns) >= one) ?? ["ns", 1];
  const maximumFractionDigits = Math.round(Math.log10(size));
  return `${(ns / size).toLocaleString("en-US", { maximumFractionDigits })} ${unit}`;
}

/** A time on an axis that shows `window_ns`, to about a pixel of it: `595.1234 ms` of 4 ms. */
export function timeIn(ns: number, window_ns: number): string {
  const [unit, size] = TIME_UNITS.find(([, one]) => Math.abs(ns) >= one) ?? ["ns", 1];
  const most = Math.round(Math.log10(size));
  const digits = Math.ceil(Math.log10((size * AXIS_PARTS) / Math.max(1, window_ns)));
  return `${(ns / size).toFixed(Math.max(0, Math.min(most, digits)))} ${unit}`;
}

/** About the pixels of an axis, as a power of ten. */
const AXIS_PARTS = 1000;

/** A Unix time as the clock of whoever looks has it, to the µs: `2026-11-21 14:03:22.123456`. */
export function wallClock(unix_us: number): string {
  return `${dateTime(Math.floor(unix_us / 1e6) * 1e9)}.${String(unix_us % 1e6).padStart(6, "0")}`;
}

/** `2026-11-21T14:03:22.123Z`, for a tooltip. */
export const utc = (unix_us: number): string => new Date(Math.floor(unix_us / 1000)).toISOString();

/** `1.50 MiB`. */
export function bytes(n: number | null): string {
  return n === null ? MISSING : scaled(n, BYTE_UNITS, "B");
}

/** `+1.50 MiB`, `−3 B`: a change. */
export function signedBytes(n: number | null): string {
  return n === null || n === 0 ? bytes(n) : `${n < 0 ? "−" : "+"}${bytes(Math.abs(n))}`;
}

/** `+1.23 ms`, `−40 ns`: a change. */
export function signedDuration(ns: number | null): string {
  return ns === null || ns === 0 ? duration(ns) : `${ns < 0 ? "−" : "+"}${duration(Math.abs(ns))}`;
}

/** `12,345`. */
export function count(n: number | bigint | null): string {
  return n === null ? MISSING : counting(n);
}

/** `12.3 %` of a share from 0 to 1. */
export function percent(share: number | null): string {
  if (share === null) return MISSING;
  const of100 = share * 100;
  if (of100 === 0) return "0 %";
  if (Math.abs(of100) < 0.01) return `${of100 < 0 ? "> −" : "< "}0.01 %`;
  // Never "100 %" for what is less: the reader would take it for all.
  if (of100 < 100 && of100 >= 99.95) return "> 99.9 %";
  const size = Math.abs(of100);
  return `${of100 < 0 ? "−" : ""}${size < 1 ? size.toFixed(2) : significant(size)} %`;
}

/** Up to 1,000 % more as a percentage, `+12.3 %`; beyond as a factor, `× 12.3`: of more digits nobody
 * reads the size, and narrow columns cut them. */
export function relativeChange(share: number | null): string {
  if (share === null) return MISSING;
  if (share > MOST_PERCENT)
    return share + 1 > MOST_FACTOR ? `> × ${count(MOST_FACTOR)}` : `× ${significant(share + 1)}`;
  return share > 0 ? `+${percent(share)}`.replace("+< ", "< +") : percent(share);
}

const [MOST_PERCENT, MOST_FACTOR] = [10, 9999];

const OPERATIONS: readonly [string, number][] = [
  ["PFLOP", 1e15],
  ["TFLOP", 1e12],
  ["GFLOP", 1e9],
  ["MFLOP", 1e6],
];

/** `3.50 TFLOP`. */
export const operations = (flops: number): string => scaled(flops, OPERATIONS, "FLOP");

/** `1.50 GB/s`: as the NCCL tests have it, in powers of ten. */
export function rate(bytesPerS: number | null): string {
  if (bytesPerS === null) return MISSING;
  const [unit, size] = bytesPerS >= 1e9 ? ["GB/s", 1e9] : bytesPerS >= 1e6 ? ["MB/s", 1e6] : ["kB/s", 1e3];
  return `${significant(bytesPerS / size)} ${unit}`;
}

/** A counter's value in its unit. */
export function counted(value: number, unit: string): string {
  if (unit === "share") return percent(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "bytes/s") return rate(value);
  if (unit === "") return Number.isInteger(value) ? count(value) : significant(value);
  return unit === "kernels"
    ? t.format.kernels(value)
    : t.format.perMs(Number.isInteger(value) ? count(value) : significant(value));
}

/** `± 5 µs`, or nothing for what is exact. */
export function bound(ns: number | null): string {
  return ns ? `± ${duration(ns)}` : "";
}

/** The same of a figure that is inferred, of which nothing may be known, too. */
export function boundOf(ns: number | null, inferred: boolean): string {
  return inferred && ns === null ? t.format.unknownBound : bound(ns);
}

/** `12.5 to 25.0 %`, or `at most 25.0 %`, of shares from 0 to 1. */
export const percentRange = (low: number, high: number): string => range(percent(low), percent(high));

/** `1.50 to 2.00 ms`. */
export const durationRange = (low: number, high: number): string => range(duration(low), duration(high));

/** The unit stands once, if it is the same. From 0 on, only the greatest value says something. */
function range(low: string, high: string): string {
  if (low === high) return high;
  const [value = "", unit] = low.split(/ (?=\S+$)/);
  if (value === "0") return t.format.atMost(high);
  return t.format.range(high.endsWith(` ${unit}`) ? value : low, high);
}

/** `(8.00 to 17.0 %)`, or nothing if one of the limits is not known. */
export function percentLimits(low: number | null, high: number | null): string {
  return low === null || high === null ? "" : `(${percentRange(low, high)})`;
}

/** `(80.0 to 92.0 ms)`, or nothing if one of the limits is not known. */
export function durationLimits(lowNs: number | null, highNs: number | null): string {
  return lowNs === null || highNs === null ? "" : `(${durationRange(lowNs, highNs)})`;
}

/** `2026-03-01 14:05:09`, in the reader's time zone. */
export function dateTime(unixNs: number): string {
  const at = new Date(unixNs / 1e6);
  const two = (n: number): string => String(n).padStart(2, "0");
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  return `${date} ${time}`;
}

/** Three significant digits without an exponent. */
export function significant(x: number): string {
  return Math.abs(x) >= 1000 ? count(Math.round(x)) : x.toPrecision(3);
}

function scaled(x: number, units: readonly [string, number][], smallest: string): string {
  // The unit is chosen after rounding: 999,999 ns is 1.00 ms, not 1000 µs.
  if (x < 0) return `−${scaled(-x, units, smallest)}`;
  const rounded = Number(x.toPrecision(3));
  for (const [unit, size] of units)
    if (rounded >= size || x >= size) return `${significant(x / size)} ${unit}`;
  return `${Number.isInteger(x) ? x : x.toPrecision(3)} ${smallest}`;
}
