import { describe, expect, it } from "vitest";
import type { History, HistoryRow } from "../../../src/api/types";
import { sweepOf } from "../../../src/pages/history/sweep-layout";

const row = (
  step_ns: number | null,
  value: string | null,
  number: number | null = Number(value),
): HistoryRow =>
  ({
    step_ns,
    parameters: value === null ? [] : [{ name: "batch", value, number, source: "metadata" }],
  }) as unknown as HistoryRow;

const result = (...rows: HistoryRow[]): History =>
  ({ rows, figure: "step_ns", levels: [] }) as unknown as History;

describe("a sweep", () => {
  it("has the recordings by the size of their number", () => {
    const sweep = sweepOf(result(row(9, "16"), row(3, "4"), row(6, "8"), row(7, "8")), "batch", 800);
    expect(sweep?.known).toEqual([1, 2, 3, 0]);
    expect(sweep?.middle.map((one) => one.value)).toEqual([3, 6.5, 9]);
    const [four = 0, eight = 0, sixteen = 0] = sweep?.marks.map((one) => one.x) ?? [];
    expect((eight - four) / (sixteen - four)).toBeCloseTo(4 / 12);
  });

  it("is logarithmic over a wide range", () => {
    const sweep = sweepOf(result(row(1, "0.001"), row(2, "0.01"), row(3, "0.1")), "batch", 800);
    const [low = 0, middle = 0, high = 0] = sweep?.marks.map((one) => one.x) ?? [];
    expect((middle - low) / (high - low)).toBeCloseTo(1 / 2);
  });

  it("has texts side by side in the order of the alphabet", () => {
    const sweep = sweepOf(result(row(1, "sgd", null), row(2, "adam", null)), "batch", 800);
    expect(sweep?.marks.map((one) => one.label)).toEqual(["adam", "sgd"]);
    expect(sweep?.known).toEqual([1, 0]);
  });

  it("labels what has room, and shortens long texts", () => {
    const near = sweepOf(result(row(1, "1"), row(2, "2"), row(3, "3"), row(4, "1000", 19)), "batch", 300);
    const at = near?.marks.map((one) => one.x) ?? [];
    expect(at.slice(1).every((x, i) => x - (at[i] ?? 0) > 15)).toBe(true);
    const long = sweepOf(result(row(1, "a".repeat(200), null), row(2, "b", null)), "batch", 800);
    expect(long?.marks[0]?.label).toHaveLength(20);
    expect(long?.marks[0]?.label.endsWith("…")).toBe(true);
    expect(long?.marks[1]?.label).toBe("b");
  });

  it("leaves out recordings without the parameter or the figure", () => {
    expect(sweepOf(result(row(1, "4"), row(2, null), row(null, "8")), "batch", 800)?.known).toEqual([0]);
    expect(sweepOf(result(row(1, null)), "batch", 800)).toBeNull();
  });
});
