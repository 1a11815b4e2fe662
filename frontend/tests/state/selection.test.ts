import { expect, test } from "vitest";
import type { Runs } from "../../src/api/types";
import { ofAllRanks, recordedStep, select, stepNumber } from "../../src/state/selection";
import { RUNS, span, worker } from "../support/runs";

const NOTHING = { run: null, rank: null, span: null, step: null };

test("the default: first run, lowest rank, latest span, all steps", () => {
  expect(select(RUNS, NOTHING)?.place).toEqual({ run: "a", rank: 1, span: 10, step: null });
});
test("the URL decides", () => {
  expect(select(RUNS, { ...NOTHING, run: "a", rank: 3, step: 7 })?.place).toEqual({
    run: "a",
    rank: 3,
    span: 1,
    step: 7,
  });
});
test("what is not there is asked for as it is, so that the server can say so", () => {
  expect(select(RUNS, { ...NOTHING, run: "gone" })).toMatchObject({
    run: null,
    place: { run: "gone", rank: 0, span: 1 },
  });
  expect(select(RUNS, { ...NOTHING, rank: 99 })).toMatchObject({
    worker: null,
    place: { run: "a", rank: 99 },
  });
});
test("what may still be found is waited for", () => {
  const partial = { ...RUNS, scanning: true };
  expect(select(partial, { ...NOTHING, run: "gone" })).toBeNull();
  expect(select({ ...RUNS, runs: [] }, { ...NOTHING, run: "gone" })).toBeNull();
  expect(select(partial, { ...NOTHING, rank: 99 })).toBeNull();
  expect(select(partial, { ...NOTHING, run: "a" })?.place.span).toBe(10);
});
test("a phase is a window, and stays one beside a step, which is one of its iterations", () => {
  expect(select(RUNS, { ...NOTHING, window: "decode" })?.place.window).toBe("decode");
  expect(select(RUNS, { ...NOTHING, window: "decode", step: 3 })?.place).toMatchObject({
    window: "decode",
    step: 3,
  });
  expect(select(RUNS, { ...NOTHING, window: "all", step: 3 })?.place.window).toBeUndefined();
  expect(select(RUNS, { ...NOTHING, window: "other" })?.place.window).toBeUndefined();
});

test("an empty logdir selects nothing", () => expect(select({ ...RUNS, runs: [] }, NOTHING)).toBeNull());
test("a trace written again is another one", () => {
  const again: Runs = {
    ...RUNS,
    runs: [{ run: "a", warnings: [], workers: [{ ...worker(0), spans: [span(1, 6)] }] }],
  };
  const before: Runs = {
    ...RUNS,
    runs: [{ run: "a", warnings: [], workers: [{ ...worker(0), spans: [span(1, 5)] }] }],
  };
  expect(select(again, NOTHING)?.stamp).not.toBe(select(before, NOTHING)?.stamp);
});
test("of all ranks, another rank is no other question, and any trace's change is one", () => {
  const [one, other] = [1, 3].map((rank) => select(RUNS, { ...NOTHING, rank, span: 1 }));
  if (!one || !other) throw new Error("both are there");
  expect(ofAllRanks(one).place).toEqual({ run: "a", rank: 1, span: 1, step: null });
  expect(ofAllRanks(other)).toMatchObject({ place: ofAllRanks(one).place, stamp: ofAllRanks(one).stamp });
  const grown: Runs = {
    ...RUNS,
    runs: [
      {
        run: "a",
        warnings: [],
        workers: [worker(3, 1), { ...worker(1, 10, 2), spans: [span(1, 9), span(10), span(2)] }],
      },
    ],
  };
  const later = select(grown, { ...NOTHING, rank: 3, span: 1 });
  expect(later && ofAllRanks(later).stamp).not.toBe(ofAllRanks(other).stamp);
});
test("a step's number", () => {
  expect(stepNumber("ProfilerStep#12")).toBe(12);
  expect(stepNumber("whole trace")).toBeNull();
});
test("an iteration of a phase is no step of a view without phases", () => {
  expect(recordedStep({ step: 3, window: "decode" })).toBeNull();
  expect(recordedStep({ step: 3, window: "all" })).toBe(3);
  expect(recordedStep({ step: 3 })).toBe(3);
});
