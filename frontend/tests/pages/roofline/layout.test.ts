// Where points and roofs of the roofline chart lie, and how keys and pointer reach them.
import { describe, expect, test } from "vitest";
import {
  apart,
  BOTTOM,
  ceilingLine,
  decades,
  HEIGHT,
  LEFT,
  neighbor,
  pointAt,
  radius,
  RIGHT,
  scaleOf,
  slopeLine,
  TOP,
  type ChartPoint,
  type ChartRoof,
} from "../../../src/pages/roofline/layout";

const WIDTH = 900;

const point = (key: string, intensity: number, rate: number, ns = 100): ChartPoint => ({
  key,
  name: key,
  intensity,
  rate,
  low: null,
  high: null,
  attainable: null,
  ns,
  product: true,
});
const ceiling = (key: string, rate: number): ChartRoof => ({
  key,
  rate,
  memory: false,
  seen: false,
  reachable: null,
});
const MEMORY: ChartRoof = { key: "memory", rate: 1e12, memory: true, seen: false, reachable: null };
const ROOFS = [ceiling("bf16 matrix", 1e14), ceiling("fp32", 1e13), MEMORY];
const POINTS = [
  point("left", 0.1, 5e10, 10),
  point("right", 300, 5e13, 1000),
  point("middle", 20, 4e12, 200),
];

describe("the scale", () => {
  test("holds all points and ridges", () => {
    const scale = scaleOf(POINTS, ROOFS, WIDTH);
    for (const p of POINTS) {
      expect(scale.x(p.intensity)).toBeGreaterThan(LEFT);
      expect(scale.x(p.intensity)).toBeLessThan(WIDTH - RIGHT);
      expect(scale.y(p.rate)).toBeGreaterThan(TOP);
      expect(scale.y(p.rate)).toBeLessThan(HEIGHT - BOTTOM);
    }
    expect(scale.x(100)).toBeGreaterThan(scale.x(10));
    expect(scale.y(1e14)).toBeLessThan(scale.y(1e13));
  });

  test("of one point still has two powers of ten", () => {
    const { intensities, rates } = scaleOf([point("p", 4, 7e9)], [], WIDTH);
    for (const [low, high] of [intensities, rates]) expect(high / low).toBeGreaterThanOrEqual(99.9);
    expect(Number.isFinite(scaleOf([], [], WIDTH).x(1))).toBe(true);
  });

  test.each([
    [
      [0.5, 2000],
      [1, 10, 100, 1000],
    ],
    [[1e-3, 1e13], [1e-3, 0.1, 10, 1e3, 1e5, 1e7, 1e9, 1e11, 1e13].filter((_, i) => i < 9)],
  ] as const)("ticks of %o are powers of ten", (range, expected) => {
    const found = decades(range);
    expect(found.length).toBeLessThanOrEqual(9);
    expect(found[0]).toBeCloseTo(expected[0] ?? 0, 9);
    for (const tick of found) expect(Math.log10(tick) % 1).toBeCloseTo(0, 9);
  });
});

describe("roofs", () => {
  const scale = scaleOf(POINTS, ROOFS, WIDTH);

  test("a ceiling begins where the memory allows it", () => {
    const line = ceilingLine(1e14, MEMORY.rate, scale);
    expect(line.x1).toBeCloseTo(scale.x(100));
    expect(line).toMatchObject({ x2: WIDTH - RIGHT, y: scale.y(1e14) });
    expect(ceilingLine(1e14, null, scale).x1).toBeCloseTo(LEFT);
  });

  test("the memory's slope ends at the highest ceiling and stays within the chart", () => {
    const line = slopeLine(MEMORY.rate, 1e14, scale);
    expect(line?.x2).toBeCloseTo(scale.x(100));
    expect(line?.y2).toBeCloseTo(scale.y(1e14));
    expect(line?.x1).toBeGreaterThanOrEqual(LEFT - 1e-9);
    expect(line?.y1).toBeLessThanOrEqual(HEIGHT - BOTTOM + 1e-9);
    expect(slopeLine(1e30, null, scale)).toBeNull();
  });

  test("labels do not cover each other, in the order of their lines", () => {
    expect(apart([100, 20, 103, 24], 13)).toEqual([100, 20, 113, 33]);
    expect(apart([], 13)).toEqual([]);
  });
});

describe("points", () => {
  const scale = scaleOf(POINTS, ROOFS, WIDTH);
  const at = (p: ChartPoint) => ({ x: scale.x(p.intensity), y: scale.y(p.rate) });

  test("the area is the time", () => {
    expect((radius(1000, 1000) / radius(250, 1000)) ** 2).toBeCloseTo(4);
    expect(radius(0, 1000)).toBeGreaterThan(0);
    expect(radius(0, 0)).toBeGreaterThan(0);
  });

  test("the pointer finds the point below it, or close to it", () => {
    expect(POINTS.map((p) => pointAt(POINTS, scale, 1000, at(p)))).toEqual([0, 1, 2]);
    expect(pointAt(POINTS, scale, 1000, { x: LEFT, y: TOP })).toBeNull();
    expect(pointAt([], scale, 0, { x: 1, y: 1 })).toBeNull();
  });

  test("of points over each other it finds the smaller one", () => {
    const both = [point("large", 20, 4e12, 1000), point("small", 20, 4e12, 10)];
    expect(pointAt(both, scale, 1000, at(both[0] as ChartPoint))).toBe(1);
    expect(pointAt([...both].reverse(), scale, 1000, at(both[0] as ChartPoint))).toBe(0);
  });

  test.each([
    [null, "ArrowLeft", 1],
    [0, "ArrowRight", 2],
    [2, "ArrowRight", 1],
    [1, "ArrowRight", 1],
    [0, "ArrowLeft", 0],
    [1, "ArrowDown", 2],
    [2, "ArrowUp", 1],
    [2, "Home", 1],
    [1, "End", 0],
    [1, "x", null],
  ])("from %o, %s goes to %o", (now, key, expected) => {
    expect(neighbor(POINTS, now, key)).toBe(expected);
  });

  test("a thousand points are found in a few milliseconds at most", () => {
    const many = Array.from({ length: 1000 }, (_, i) => point(String(i), 1.01 ** i, 1e9 * 1.01 ** i, i));
    const wide = scaleOf(many, [], WIDTH);
    const found = many.map((p) => pointAt(many, wide, 1000, { x: wide.x(p.intensity), y: wide.y(p.rate) }));
    expect(found.every((i) => i !== null)).toBe(true);
  });
});
