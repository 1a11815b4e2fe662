// Findings on the time axis: where their evidence lies, and what is one mark.
import { expect, test } from "vitest";
import type { AdviceRow, AdviceTable } from "../../../src/api/types";
import { clustered, insightsOf } from "../../../src/pages/timeline/insights";

const row = (rule: string, severity: AdviceRow["severity"], ...starts: number[]): AdviceRow =>
  ({
    rule,
    title: `title of ${rule}`,
    severity,
    evidence: starts.map((start_ns) => ({ name: "aten::mm", start_ns })),
  }) as AdviceRow;

const table = { rows: [row("a", "low", 100, 900), row("b", "high", 104), row("c", "note")] } as AdviceTable;

test("each event of the evidence has its place, on the clock of the first rank", () => {
  expect(insightsOf(table, 10).map(({ rule, at }) => [rule, at])).toEqual([
    ["a", 110],
    ["b", 114],
    ["a", 910],
  ]);
});

test("what is close together is one mark, the most severe first; what is not shown has none", () => {
  const all = insightsOf(table, 0);
  const marks = clustered(all, { start: 0, stop: 1000 }, 1000);
  expect(marks.map(({ x, insights }) => [x, insights.map((one) => one.rule)])).toEqual([
    [100, ["b", "a"]],
    [900, ["a"]],
  ]);
  expect(clustered(all, { start: 90, stop: 110 }, 1000)).toHaveLength(2);
  expect(clustered(all, { start: 200, stop: 300 }, 1000)).toEqual([]);
});
