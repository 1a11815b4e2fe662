import { expect, test } from "vitest";
import type { Runs } from "../../../src/api/types";
import { baseOf } from "../../../src/pages/diff/base";
import { select } from "../../../src/state/selection";
import { RUNS, span, worker } from "../../support/runs";

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

test("the base is what the URL says", () => {
  const here = select(RUNS, NOTHING);
  expect(here && baseOf(RUNS, { ...NOTHING, base: "b", basestep: 4 }, here)?.selected.place).toEqual({
    run: "b",
    rank: 0,
    span: 1,
    step: 4,
  });
  expect(here && baseOf(RUNS, { ...NOTHING, basespan: 1 }, here)?.selected.place).toEqual({
    run: "a",
    rank: 1,
    span: 1,
    step: null,
  });
  expect(here && baseOf(RUNS, { ...NOTHING, baserank: 3 }, here)?.selected.place).toEqual({
    run: "a",
    rank: 3,
    span: 1,
    step: null,
  });
});
test("the run before is the last one of the same rank", () => {
  const run = (name: string, rank: number, modified_ns: number) => ({
    run: name,
    workers: [{ ...worker(rank), spans: [span(1, modified_ns)] }],
    warnings: [],
  });
  const runs = (...all: Runs["runs"]): Runs => ({ ...RUNS, runs: all });
  const base = (all: Runs, name: string): string | undefined => {
    const here = select(all, { ...NOTHING, run: name });
    return (here && baseOf(all, { ...NOTHING, run: name }, here)?.selected.place.run) ?? undefined;
  };
  const all = runs(run("first", 0, 10), run("mine", 0, 40), run("near", 0, 30), run("other rank", 7, 39));
  expect(base(all, "mine")).toBe("near");
  expect(base(all, "first")).toBe("near");
  expect(base(all, "other rank")).toBe("near");
  expect(base(runs(run("mine", 0, 1), run("b", 3, 9), run("c", 3, 5)), "mine")).toBe("c");
});

test("by default the span before, else another run, else another rank, else a step of its own", () => {
  const base = (runs: Runs, state: Partial<Choice>) => {
    const here = select(runs, { ...NOTHING, ...state });
    return (here && baseOf(runs, { ...NOTHING, ...state }, here)?.selected.place) ?? null;
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

test("the run before is of the same group, and on the same worker", () => {
  const run = (name: string, modified_ns: number, host = "w0", rank = 0) => ({
    run: name,
    workers: [{ ...worker(rank), worker: host, spans: [span(1, modified_ns)] }],
    warnings: [],
  });
  const runs = (...all: Runs["runs"]): Runs => ({ ...RUNS, runs: all });
  const base = (all: Runs, name: string) => {
    const here = select(all, { ...NOTHING, run: name });
    return here && baseOf(all, { ...NOTHING, run: name }, here);
  };
  const mine = run("exp/mine", 40);
  const all = runs(run("a", 39), run("exp/old", 10), run("exp/near", 30), mine, run("exp/later", 41));
  const found = base(all, "exp/mine");
  expect(found?.selected.place.run).toBe("exp/near");
  expect(found).toMatchObject({ kind: "earlier", same: { group: true, rank: true, worker: true } });
  const later = base(runs(run("exp/later", 50), mine, run("a", 30)), "exp/mine");
  expect(later).toMatchObject({ kind: "later", same: { group: true } });
  const hosts = runs(run("exp/x", 35, "other"), run("exp/y", 20), mine);
  expect(base(hosts, "exp/mine")?.selected.place.run).toBe("exp/y");
  const ranked = base(runs(run("exp/x", 39, "w0", 3), run("b", 20), mine), "exp/mine");
  expect(ranked).toMatchObject({ kind: "earlier", same: { group: false, rank: true } });
  expect(base(all, "exp/mine")?.kind).toBe("earlier");
});
