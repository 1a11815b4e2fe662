import { describe, expect, test } from "vitest";
import { namesOf } from "../../../src/pages/shared/flame-boxes";
import { matchedTime, patternOf } from "../../../src/pages/shared/flame-rows";

const row = (name: string, parent: number | null, ns: number, full: string | null = null) => ({
  name,
  full_name: full,
  parent,
  ns,
});

/** main 80: a 50 (a 10), b 20; and a kernel 20. */
const ROWS = [
  row("main", null, 80),
  row("a", 0, 50),
  row("a", 1, 10),
  row("b", 0, 20),
  row("GEMM", null, 20, "cutlass_gemm_a"),
];

describe("a search", () => {
  const matched = (search: string): number => matchedTime(ROWS, search, (r) => r.ns);
  test("counts what is inside another match once", () => expect(matched(" A ")).toBe(80 + 20));
  test("finds compilers' names", () => expect(matched("cutlass")).toBe(20));
  test("of nothing matches nothing", () => expect(matched(" ")).toBe(0));
});

test("a path has full names", () => {
  expect(namesOf(ROWS, 2)).toEqual(["main", "a", "a"]);
  expect(namesOf(ROWS, 4)).toEqual(["cutlass_gemm_a"]);
});

describe("the pattern that ignores", () => {
  test.each([
    ["transformers/models/bert.py(3): forward", "frame", "transformers/"],
    ["/sgl-workspace/sglang/x.py(3): f", "frame", "/sgl-workspace/"],
    ["train.py(3): step", "frame", "train.py"],
    ["<built-in method item of Tensor object>", "frame", "<built-in method item of Tensor object>"],
    ["aten::mm", "operator", "aten::mm"],
    ["a;b", "annotation", "a\\;b"],
  ])("%s, a %s", (name, kind, expected) => expect(patternOf(name, kind)).toBe(expected));
});
