import { describe, expect, test } from "vitest";
import type { TimelineLevel } from "../../src/api/types";
import { exampleAt, goals, levelFor } from "../../src/report/levels";

const level = (
  id: string,
  kind: TimelineLevel["kind"],
  start: number,
  stop: number,
  merged: number,
): TimelineLevel => ({
  id,
  kind,
  label: id,
  start_ns: start,
  stop_ns: stop,
  rectangles: 100,
  merged,
});

const LEVELS = [
  level("whole", "whole", 0, 1000, 900),
  level("step", "step", 100, 300, 50),
  level("part", "step", 100, 150, 0),
  level("wait", "stretch", 200, 260, 0),
];

describe("the level for what is shown", () => {
  test.each([
    [0, 1000, "whole"],
    [-10, 1010, "whole"],
    [100, 300, "step"],
    [110, 140, "part"],
    [210, 250, "wait"],
    [250, 290, "step"],
    [290, 320, "whole"],
  ])("%d to %d", (start, stop, id) => {
    expect(levelFor(LEVELS, { start, stop }, 1000)?.id).toBe(id);
  });
  test("is the first that shows every range, and none without levels", () => {
    const all = [level("whole", "whole", 0, 1000, 0), ...LEVELS.slice(1)];
    expect(levelFor(all, { start: 110, stop: 140 }, 1000)?.id).toBe("whole");
    expect(levelFor([], { start: 0, stop: 1 }, 1)).toBeUndefined();
  });
});

test("an example is the shortest level around its time", () => {
  expect(exampleAt(LEVELS, 220)).toEqual({ start: 200, stop: 260 });
  expect(exampleAt(LEVELS, 280)).toEqual({ start: 100, stop: 300 });
  expect(exampleAt(LEVELS, 500)).toBeNull();
});

test("goals are the step and the intervals, not the parts of the step", () => {
  expect(goals(LEVELS).map((one) => one.label)).toEqual(["step", "wait"]);
});
