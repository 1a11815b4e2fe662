import { expect, test } from "vitest";
import type { Runs, Worker } from "../../../src/api/types";
import { baseOf } from "../../../src/pages/diff/base";
import { select } from "../../../src/state/selection";

type Choice = Parameters<typeof baseOf>[1];
const NOTHING: Choice = {
  run: null,
  rank: null,
  span: null,
  step: null,
  base: null,
  baserank: null,
  basespan: null,
  basestep: null,
};
const span = (n: number, modified_ns = 5) => ({
  span: n,
  label: String(n),
  bytes: 10,
  modified_ns,
  has_sidecar: false,
});
const worker = (rank: number, ...spans: number[]): Worker => ({
  worker: `w${rank}`,
  rank,
  rank_source: "name",
  spans: spans.map((n) => span(n)),
});
const RUNS: Runs = {
  logdir: "/log",
  scanning: false,
  warnings: [],
  runs: [
    { run: "a", workers: [worker(3, 1), worker(1, 1, 10, 2)], warnings: [] },
    { run: "b", workers: [worker(0, 1)], warnings: [] },
  ],
};

test("the base is what the URL says", () => {
  const here = select(RUNS, NOTHING);
  expect(here && baseOf(RUNS, { ...NOTHING, base: "b", basestep: 4 }, here)?.place).toEqual({
    run: "b",
    rank: 0,
    span: 1,
    step: 4,
  });
  expect(here && baseOf(RUNS, { ...NOTHING, basespan: 1 }, here)?.place).toEqual({
    run: "a",
    rank: 1,
    span: 1,
    step: null,
  });
  expect(here && baseOf(RUNS, { ...NOTHING, baserank: 3 }, here)?.place).toEqual({
    run: "a",
    rank: 3,
    span: 1,
    step: null,
  });
});
test("by default the span before, else another run, else another rank, else a step of its own", () => {
  const base = (runs: Runs, state: Partial<Choice>) => {
    const here = select(runs, { ...NOTHING, ...state });
    return (here && baseOf(runs, { ...NOTHING, ...state }, here)?.place) ?? null;
  };
  expect(base(RUNS, {})).toMatchObject({ run: "a", rank: 1, span: 2 });
  expect(base(RUNS, { span: 1 })).toMatchObject({ run: "b", rank: 0, span: 1 });
  expect(base(RUNS, { run: "b" })).toMatchObject({ run: "a", rank: 1, span: 10 });
  const ranks: Runs = { ...RUNS, runs: [{ run: "a", warnings: [], workers: [worker(0, 1), worker(1, 1)] }] };
  expect(base(ranks, {})).toMatchObject({ run: "a", rank: 1, span: 1 });
  const alone: Runs = { ...RUNS, runs: [{ run: "a", warnings: [], workers: [worker(0, 1)] }] };
  expect(base(alone, {})).toBeNull();
  expect(base(alone, { basestep: 3 })).toEqual({ run: "a", rank: 0, span: 1, step: 3 });
});
