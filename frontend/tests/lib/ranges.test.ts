import { expect, test } from "vitest";
import { ranges } from "../../src/lib/ranges";

test("runs of successive numbers are ranges, from three on", () => {
  expect(ranges([0, 1, 2, 5, 7, 8, 10, 11, 12, 13])).toEqual(["0–2", "5", "7", "8", "10–13"]);
  expect(ranges([])).toEqual([]);
});
