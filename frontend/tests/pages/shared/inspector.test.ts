// @vitest-environment happy-dom
// Where a call lies among those of its name, in words and on the histogram.
import { describe, expect, test } from "vitest";
import type { Instances, Item } from "../../../src/api/types";
import { lengthOf } from "../../../src/pages/shared/inspector/calls";
import { placeOf } from "../../../src/pages/shared/inspector/namesakes";
import { placeIn } from "../../../src/widgets/charts/histogram";

describe("in words", () => {
  test.each([
    [{ calls: 1, shorter: 0 }, "The only one of this name."],
    [{ calls: 4, shorter: 0 }, "None of 4 calls is shorter."],
    [{ calls: 4, shorter: 3 }, "Longer than 75.0 % of 4 calls."],
    [{ calls: 4, shorter: null }, ""],
  ])("%o", (found, text) => expect(placeOf(found)).toBe(text));
});

describe("on the histogram", () => {
  const bins = [
    { low: 10, high: 20, count: 1 },
    { low: 20, high: 60, count: 2 },
  ];
  test.each([
    [5, 0],
    [10, 0],
    [15, 0.5],
    [20, 1],
    [40, 1.5],
    [99, 2],
  ])("%i ns is at %d bins", (value, place) => expect(placeIn(bins, value)).toBe(place));
});

test("the length of a call that is not listed is not known", () => {
  const item = (index: number, end_ns: number) => ({ index, start_ns: 0, end_ns }) as Item;
  const found = { typical: item(3, 30), items: [item(1, 10), item(2, 20)] } as Instances;
  expect([1, 2, 3, 4, null].map((index) => lengthOf(found, index))).toEqual([10, 20, 30, null, null]);
});
