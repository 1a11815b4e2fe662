import { describe, expect, test } from "vitest";
import { joinNames, splitNames } from "../../../src/lib/name-path";
import { treeOrder, withAncestors } from "../../../src/widgets/table/columns";
import { boxAt, layout, neighbour, type FlameBox } from "../../../src/widgets/flamegraph/layout";

const box = (name: string, parent: number | null, value: number): FlameBox => ({
  name,
  searched: name,
  parent,
  value,
  color: "--cpu",
  strong: false,
  hatched: false,
});

/** main 80 of 100: a 50 (c 10), b 20; and other 20. */
const BOXES = [
  box("main", null, 80),
  box("a", 0, 50),
  box("c", 1, 10),
  box("b", 0, 20),
  box("other", null, 20),
];

describe("a path of names", () => {
  test.each([[["a"]], [["a", "b"]], [["a;b", "c\\"]], [["", "x"]], [["f(1): g", "\\;"]], [["a\nb"]]])(
    "%j comes back",
    (names) => {
      expect(splitNames(joinNames(names))).toEqual(names);
    },
  );
  test("is as the server reads it", () => expect(joinNames(["a;b\\c", "d"])).toBe("a\\;b\\\\c;d"));
  test("none is empty", () => expect(splitNames(null)).toEqual([]));
});

describe("a flame graph", () => {
  const placed = layout(BOXES, 100);
  test("has siblings side by side within their parent", () => {
    expect([...placed.left]).toEqual([0, 0, 0, 0.5, 0.8]);
    expect([...placed.level]).toEqual([0, 1, 2, 1, 0]);
    expect(placed.depth).toBe(2);
  });
  test("finds the box at a place", () => {
    expect(boxAt(placed, 0.55, 1)).toBe(3);
    expect(boxAt(placed, 0.75, 1)).toBeNull();
    expect(boxAt(placed, 0.9, 0)).toBe(4);
    expect(boxAt(placed, 0.9, 7)).toBeNull();
  });
  test("moves by keys", () => {
    const from = (now: number | null, key: string): number | null => neighbour(placed, BOXES, now, key);
    expect(from(null, "ArrowDown")).toBe(0);
    expect(from(0, "ArrowDown")).toBe(1);
    expect(from(1, "ArrowRight")).toBe(3);
    expect(from(3, "ArrowLeft")).toBe(1);
    expect(from(2, "ArrowUp")).toBe(1);
    expect(from(0, "ArrowUp")).toBeNull();
    expect(from(4, "ArrowDown")).toBeNull();
    expect(from(0, "ArrowRight")).toBe(4);
    expect(from(2, "x")).toBeNull();
  });
});

describe("a flame graph that grows upward", () => {
  const placed = layout(BOXES, 100, true);
  test("has its root at the bottom", () => {
    expect([...placed.level]).toEqual([2, 1, 0, 1, 2]);
    expect(boxAt(placed, 0.55, 1)).toBe(3);
    expect(boxAt(placed, 0.9, 2)).toBe(4);
    expect(boxAt(placed, 0.05, 0)).toBe(2);
  });
  test("moves by keys to where boxes are", () => {
    const from = (now: number | null, key: string): number | null => neighbour(placed, BOXES, now, key);
    expect(from(null, "ArrowUp")).toBe(0);
    expect(from(null, "x")).toBeNull();
    expect(from(null, "Home")).toBe(0);
    expect(from(0, "ArrowUp")).toBe(1);
    expect(from(1, "ArrowUp")).toBe(2);
    expect(from(1, "ArrowDown")).toBe(0);
    expect(from(1, "ArrowRight")).toBe(3);
  });
});

describe("a tree's rows", () => {
  const parents = [null, 0, 1, 0, null];
  test("stand before their children, siblings in order", () => {
    expect(treeOrder(parents, [4, 3, 2, 1, 0], () => true)).toEqual([4, 0, 3, 1, 2]);
  });
  test("are hidden where one around is closed", () => {
    expect(treeOrder(parents, [0, 1, 2, 3, 4], (row) => row !== 1)).toEqual([0, 1, 3, 4]);
    expect(treeOrder(parents, [0, 1, 2, 3, 4], () => false)).toEqual([0, 4]);
  });
  test("come with those around", () => expect(withAncestors(parents, [2])).toEqual([0, 1, 2]));
});
