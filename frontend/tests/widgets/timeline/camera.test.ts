import { expect, test } from "vitest";
import { centered, panned } from "../../../src/widgets/timeline/camera";

const ALL = { start: -100, stop: 900 };
const NOW = { start: 400, stop: 500 };

test("a time is brought to the middle", () =>
  expect(centered(NOW, 200, ALL)).toEqual({ start: 150, stop: 250 }));

test.each([
  [-5000, -1],
  [5000, 1],
])("around %d one sees as little beyond the recording as keys lead to", (at, way) => {
  expect(centered(NOW, at, ALL)).toEqual(panned(NOW, way * 1000, ALL));
});

test("the ends of the recording can be in the middle", () => {
  expect(centered(NOW, -100, ALL)).toEqual({ start: -150, stop: -50 });
  expect(centered(NOW, 900, ALL)).toEqual({ start: 850, stop: 950 });
});
