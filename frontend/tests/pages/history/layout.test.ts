// Where the points and levels of the runs page's chart lie.
import { describe, expect, test } from "vitest";
import type { History, HistoryRow } from "../../../src/api/types";
import { scaleOf } from "../../../src/pages/history/layout";
import { format, ticksOf } from "../../../src/pages/history/figures";

const row = (step_ns: number | null): HistoryRow => ({ run: "r", span: 1, step_ns }) as HistoryRow;

const result = (values: readonly (number | null)[], high = 0): History =>
  ({
    rows: values.map(row),
    figure: "step_ns",
    levels: high ? [{ first: 0, last: 0, median: 1, low: 0, high, change: null }] : [],
  }) as unknown as History;

describe("the scale", () => {
  test("has none without a value", () => {
    expect(scaleOf(result([null, null]), 800)).toBeNull();
    expect(scaleOf(result([]), 800)).toBeNull();
  });

  test("puts recordings apart by the same distance, those without a value too", () => {
    const scale = scaleOf(result([1e6, null, 3e6]), 800);
    const [a = 0, b = 0, c = 0] = [0, 1, 2].map((i) => scale?.x(i) ?? 0);
    expect(b - a).toBeCloseTo(c - b);
    expect(a).toBeLessThan(b);
  });

  test("begins at 0", () => {
    const scale = scaleOf(result([1e6, 2e6]), 800);
    const [zero = 0, one = 0, two = 0] = [0, 1e6, 2e6].map((v) => scale?.y(v) ?? 0);
    expect(zero - two).toBeCloseTo(2 * (zero - one));
  });

  test("shows all of a band, unless it is twice the values", () => {
    const y = (high: number): number => scaleOf(result([1e6], high), 800)?.y(1e6) ?? 0;
    expect(y(1.5e6)).toBeGreaterThan(y(1e6));
    expect(y(9e6)).toBeCloseTo(y(2e6));
  });
});

test("figures have their units", () => {
  expect(format("step_ns", 1.5e6)).toBe("1.50 ms");
  expect(format("utilization", 0.25)).toBe("25.0 %");
  expect(format("memory_peak_bytes", 2 ** 30)).toBe("1.00 GiB");
});

test("ticks are round", () => {
  expect(ticksOf("step_ns", 15.7e6).map((tick) => tick.label)).toEqual(["0", "5 ms", "10 ms", "15 ms"]);
  expect(ticksOf("utilization", 0.9).map((tick) => tick.label)).toContain("75.0 %");
  expect(ticksOf("memory_peak_bytes", 2 ** 30).at(-1)?.label).toBe("1.00 GiB");
});
