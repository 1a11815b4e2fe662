import { describe, expect, test } from "vitest";
import { farthest, heat, lines, rowOrder } from "../../../src/widgets/charts/heatmap-layout";

const round = (a: Float64Array): number[] => [...a].map((x) => Math.round(x * 1000) / 1000);

describe("shades", () => {
  test("are from each column's own median", () => {
    const found = heat([100, 1000, 100, 1000, 150, 900], 2);
    expect(found.rows).toBe(3);
    expect(round(found.shade).slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(found.shade[4]).toBe(1);
    expect(found.shade[5]).toBeLessThan(0);
  });
  test("small differences stay pale", () => {
    const found = heat([1000, 1001, 999], 1);
    expect(found.scale).toBe(0.05);
    expect(Math.max(...round(found.shade).map(Math.abs))).toBeLessThan(0.05);
  });
  test("what is not known is no number", () => {
    expect(round(heat([null, 5, 5, null], 2).shade)).toEqual([NaN, 0, 0, NaN]);
    expect(heat([], 3)).toMatchObject({ rows: 0 });
    expect(heat([], 0)).toMatchObject({ rows: 0, columns: 0 });
  });
  test("a median of 0 is no measure", () => {
    const found = heat([0, 0, 50, 10, 10, 10], 2);
    expect([...found.shade].every((s) => s >= -1 && s <= 1)).toBe(true);
  });
});

test("the worst rows first, those without anything last", () => {
  const found = heat([100, 100, 100, 130, null, 120], 1);
  expect(rowOrder(found, false)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(rowOrder(found, true)).toEqual([3, 5, 0, 1, 2, 4]);
});

test("a thousand rows fit, and none can hide", () => {
  expect(lines(4, 320, 22)).toEqual({ height: 22, each: 1, count: 4 });
  expect(lines(256, 320, 22)).toEqual({ height: 1, each: 1, count: 256 });
  expect(lines(1000, 320, 22)).toEqual({ height: 1, each: 4, count: 250 });
  const found = heat([100, 100, 100, 40, 120, null], 1);
  expect(farthest(found, [0, 1, 4], 0)).toBeGreaterThan(0);
  expect(farthest(found, [0, 3, 4], 0)).toBeLessThan(0);
  expect(farthest(found, [5], 0)).toBeNaN();
});
