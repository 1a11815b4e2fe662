// @vitest-environment happy-dom
// The chart of ranks: of very many it says which ones it shows.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { Distributed } from "../../../src/api/types";
import { RankChart } from "../../../src/pages/distributed";

const row = (rank: number) => ({ rank, step_ns: 9_000_000, computation_ns: 8_000_000, idle_ns: 1_000_000 });

function show(total: number): string {
  const result = {
    rows: [row(0), row(7)],
    rows_total: total,
    provenance: { timeline: "measured" },
    collectives: [],
    notes: [],
  } as unknown as Distributed;
  document.body.innerHTML = "<main></main>";
  const chart = <RankChart result={result} rank={0} step={null} onSelect={() => undefined} />;
  act(() => render(chart, document.querySelector("main") as HTMLElement));
  return document.querySelector("[data-testid=not-listed]")?.textContent ?? "";
}

test("says how many ranks it leaves out, and which", () => {
  expect(show(10_000)).toBe("2 of 10,000, those for whom the others waited longest");
});

test("says nothing where all ranks are there", () => {
  expect(show(2)).toBe("");
});
