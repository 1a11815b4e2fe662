// The leading rows of a flame graph, folded.
import { describe, expect, it } from "vitest";
import { folded, leadingRows } from "../../../src/widgets/flamegraph/fold";
import type { FlameBox } from "../../../src/widgets/flamegraph/layout";

const box = (name: string, parent: number | null, value: number): FlameBox => ({
  name,
  searched: name,
  color: "",
  strong: false,
  hatched: false,
  parent,
  value,
});
const chain = ["a", "b", "c", "d"].map((name, i) => box(name, i === 0 ? null : i - 1, 100));

describe("leadingRows", () => {
  it("ends before the first box that has several children, or less than all of the time", () => {
    expect(leadingRows([...chain, box("x", 3, 60), box("y", 3, 40)])).toBe(3);
    expect(leadingRows([...chain, box("x", 3, 99.9)])).toBe(3);
    expect(leadingRows([...chain, box("x", 3, 99.99), box("y", 4, 50)])).toBe(4);
  });

  it("folds no few rows, no roots side by side, and nothing of nothing", () => {
    expect(leadingRows(chain.slice(0, 3))).toBe(0);
    expect(leadingRows([...chain, box("another", null, 1)])).toBe(0);
    expect(leadingRows([])).toBe(0);
  });
});

describe("folded", () => {
  it("puts one box in their place, that a search finds by any of their names", () => {
    const boxes = [...chain, box("x", 3, 60), box("y", 4, 40)];
    const [above, ...rest] = folded(boxes, 3, "3 frames above");
    expect(above).toMatchObject({ name: "3 frames above", searched: "a b c", parent: null, value: 100 });
    expect(rest.map(({ name, parent }) => [name, parent])).toEqual([
      ["d", 0],
      ["x", 1],
      ["y", 2],
    ]);
    expect(folded(boxes, 0, "")).toBe(boxes);
  });
});
