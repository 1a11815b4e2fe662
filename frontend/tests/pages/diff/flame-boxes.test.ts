import { describe, expect, test } from "vitest";
import type { FlameDiffNode } from "../../../src/api/types";
import { boxOf, changeOf, sizeOf } from "../../../src/pages/diff/flame-boxes";

const node = (base: number, now: number, more: Partial<FlameDiffNode> = {}): FlameDiffNode => ({
  name: "aten::mm",
  kind: "operator",
  parent: null,
  status: "both",
  base_calls: 1,
  now_calls: 1,
  base_ns: base,
  now_ns: now,
  change_ns: now - base,
  noise_ns: 0,
  bound_ns: 0,
  verdict: now > base ? "longer" : now < base ? "shorter" : "same",
  ...more,
});

describe("the change of a box", () => {
  test.each([
    [node(100, 110), "longer", "+10.0 %", "--longer"],
    [node(100, 300), "much_longer", "+200 %", "--longer"],
    [node(100, 90), "shorter", "−10.0 %", "--shorter"],
    [node(100, 50), "much_shorter", "−50.0 %", "--shorter"],
    [node(100, 100), "same", "≈", "--other"],
    [node(100, 120, { verdict: "within_noise" }), "same", "≈", "--other"],
    [node(100, 120, { verdict: "within_bound" }), "same", "≈", "--other"],
    [node(0, 120, { status: "new" }), "new", "new", "--longer"],
    [node(120, 0, { status: "gone" }), "gone", "removed", "--shorter"],
    [node(100, 110, { verdict: "unknown" }), "longer", "+10.0 %", "--longer"],
    [node(100, 0, { now_ns: null, change_ns: null, verdict: "unknown" }), "same", "", "--other"],
  ])("%#", (row, change, note, color) => {
    expect(changeOf(row)).toBe(change);
    expect(boxOf(row, "both")).toMatchObject({ note, color });
  });
});

test("the width is of either or of both", () => {
  const widths = (["both", "base", "now"] as const).map((width) => sizeOf(node(100, 300), width));
  expect(widths).toEqual([200, 100, 300]);
});
