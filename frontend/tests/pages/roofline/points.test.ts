// Points and roofs of a result, as the chart has them.
import { describe, expect, test } from "vitest";
import type { Roofline, RooflineRow, RoofRow } from "../../../src/api/types";
import {
  number,
  operations,
  perSecond,
  pointsOf,
  roofsOf,
  scaled,
  withinReach,
} from "../../../src/pages/roofline/points";

const ROW = {
  name: "aten::mm",
  roof: "bf16 matrix",
  product: true,
  device_ns: 1000,
  device_bound_ns: 0,
  flops: 100,
  bytes: 10,
  flops_per_byte: 10,
  tflop_per_s: 2,
  longest_row: 7,
} as RooflineRow;
const ROOFS = [
  { name: "bf16 matrix", kind: "compute", matrix: true, rate: 100e12, reachable: 60e12, device_ns: 900 },
  { name: "fp32", kind: "compute", matrix: false, rate: 10e12, reachable: null, device_ns: 0 },
  { name: "memory", kind: "memory", matrix: false, rate: 1e12, reachable: null, device_ns: 900 },
] as RoofRow[];
const of = (...rows: Partial<RooflineRow>[]): Pick<Roofline, "rows" | "roofs"> => ({
  rows: rows.map((row, i) => ({ ...ROW, longest_row: i, ...row })),
  roofs: ROOFS,
});

describe("points", () => {
  test("lie at their intensity and rate, below what their roof allows there", () => {
    const [point] = pointsOf(of({}));
    expect(point).toMatchObject({ intensity: 10, rate: 2e12, attainable: 10e12, low: null, high: null });
    expect(pointsOf(of({ flops_per_byte: 1000 }))[0]?.attainable).toBe(100e12);
    expect(pointsOf({ ...of({}), roofs: [] })[0]?.attainable).toBeNull();
  });

  test("without FLOPs or bytes there is none", () => {
    expect(pointsOf(of({ tflop_per_s: 0 }, { flops_per_byte: null }, { tflop_per_s: null }))).toEqual([]);
  });

  test("have the limits of inferred times", () => {
    const [point] = pointsOf(of({ device_bound_ns: 500 }));
    expect(point?.low).toBeCloseTo((2e12 * 1000) / 1500);
    expect(point?.high).toBeCloseTo(4e12);
    expect(pointsOf(of({ device_bound_ns: 1000 }))[0]?.high).toBe(Number.POSITIVE_INFINITY);
    expect(pointsOf(of({ device_bound_ns: null }))[0]).toMatchObject({ low: 0 });
  });

  test("with little time and far away are outside of the axes", () => {
    const near = Array.from({ length: 12 }, () => ({ device_ns: 1000 }));
    const placed = pointsOf(of(...near, { device_ns: 1, tflop_per_s: 1e-6 }, { device_ns: 1 }));
    expect(withinReach(placed).map((p) => p.key)).toEqual(
      placed.filter((_, i) => i !== 12).map((p) => p.key),
    );
    expect(withinReach([])).toEqual([]);
  });
});

test("roofs are those with work under them, or all", () => {
  expect(roofsOf({ roofs: ROOFS, device_ns: 1000 }).map((r) => r.key)).toEqual(["bf16 matrix", "memory"]);
  const unused = ROOFS.map((r) => ({ ...r, device_ns: 0 }));
  expect(roofsOf({ roofs: unused, device_ns: 1000 })).toHaveLength(3);
});

test.each([
  [312e12, "312 TFLOP/s"],
  [999.96e9, "1 TFLOP/s"],
  [1234e15, "1,234 PFLOP/s"],
  [1500, "1.5 kFLOP/s"],
  [12, "12 FLOP/s"],
])("%d is %s", (rate, expected) => expect(perSecond(rate)).toBe(expected));

test("numbers have three digits", () => {
  expect(perSecond(1.56e12, true)).toBe("1.56 TB/s");
  expect([scaled(0), scaled(9.721e12), operations(118.4e9)]).toEqual(["0", "9.72 T", "118 GFLOP"]);
  expect([number(0.00012345), number(1234.5), number(0.5)]).toEqual(["0.000123", "1,235", "0.5"]);
});
