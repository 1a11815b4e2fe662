import { describe, expect, test } from "vitest";
import { ownFrame } from "../../../src/lib/python-stack";
import { parseRange } from "../../../src/lib/time-range";
import { extent, pointAt, type Point } from "../../../src/widgets/charts/area-layout";
import { byteTicks, timeTicks } from "../../../src/widgets/charts/ticks";

const POINTS: Point[] = [
  { at: 0, value: 100, limit: 400 },
  { at: 10, value: 150, limit: 400 },
  { at: 10, value: 160, limit: 500 },
  { at: 30, value: 120, limit: null },
];

test("a range is read as the URL has it; anything else is none", () => {
  expect(parseRange("12..345")).toEqual({ start: 12, end: 345 });
  expect(parseRange("-5..345")).toEqual({ start: -5, end: 345 });
  for (const bad of [
    null,
    "",
    "1..1",
    "9..3",
    "a..b",
    "1.5..3",
    "1..2..3",
    "99999999999999999..99999999999999999999",
  ])
    expect(parseRange(bad)).toBeNull();
});

describe("chart", () => {
  test("a value holds until the next point; of points at one time the last one counts", () => {
    expect([-1, 0, 9, 10, 29, 30, 99].map((at) => pointAt(POINTS, at)?.value)).toEqual([
      100, 100, 100, 160, 160, 120, 120,
    ]);
    expect(pointAt([], 5)).toBeNull();
  });
  test("the axis starts at 0 and holds the limit", () => {
    const { low, high } = extent(POINTS, false);
    expect(low).toBe(0);
    expect(high).toBeGreaterThan(500);
  });
  test("an axis that fits holds the area only", () => {
    const { low, high } = extent(POINTS, true);
    expect(low).toBeGreaterThan(90);
    expect(low).toBeLessThan(100);
    expect(high).toBeGreaterThan(160);
    expect(high).toBeLessThan(200);
  });
  test("a change may be negative", () => {
    expect(extent([{ at: 0, value: -50, limit: null }], false).low).toBe(-50);
  });
  test("a flat line has an axis, too", () => {
    for (const fit of [true, false]) {
      const { low, high } = extent([{ at: 0, value: 0, limit: null }], fit);
      expect(high).toBeGreaterThan(low);
    }
  });
});

describe("ticks", () => {
  test("sizes are powers of two apart, in one unit", () => {
    expect(byteTicks(0, 150 * 2 ** 20, 4).map((t) => t.label)).toEqual(["0", "64 MiB", "128 MiB"]);
    expect(byteTicks(1.4 * 2 ** 30, 1.6 * 2 ** 30, 4).map((t) => t.label)).toEqual([
      "1.4375 GiB",
      "1.5000 GiB",
      "1.5625 GiB",
    ]);
  });
  test("times have the digits that tell them apart", () => {
    expect(timeTicks(1_234_000_000, 1_236_000_000, 4).map((t) => t.label)).toEqual([
      "1.2340 s",
      "1.2345 s",
      "1.2350 s",
      "1.2355 s",
      "1.2360 s",
    ]);
    expect(timeTicks(7.1e12, 8e12, 2).map((t) => t.label)).toEqual(["7,500 s", "8,000 s"]);
    expect(timeTicks(-1_500, 1_000, 4).map((t) => t.label)).toEqual(["-1 µs", "0", "1 µs"]);
  });
  test.each([
    [0, 1],
    [0, 7],
    [5, 5.5],
    [1e9, 1e9 + 3],
    [-40, 90],
    [0, 8e12],
  ])("from %s to %s they are few, inside and different", (low, high) => {
    for (const found of [timeTicks(low, high, 6), byteTicks(low, high, 6)]) {
      expect(found.length).toBeLessThan(14);
      expect(found.every((t) => t.at >= low && t.at <= high)).toBe(true);
      expect(new Set(found.map((t) => t.label)).size).toBe(found.length);
    }
  });
});

test("the reader's own frame: not torch's, no built-in, no module's name", () => {
  expect(
    ownFrame(
      "<built-in function linear>;torch/nn/modules/linear.py(124): forward;nn.Module: Linear_0;net.py(5): forward;train.py(1): main",
    ),
  ).toBe("net.py(5): forward");
  expect(
    ownFrame(
      "/env/lib/python3/site-packages/torch/autograd/profiler.py(611): __init__;resnet.py(42): <module>",
    ),
  ).toBe("resnet.py(42): <module>");
  expect(ownFrame("torch/a.py(1): f")).toBe("torch/a.py(1): f");
  expect(ownFrame(null)).toBeNull();
});
