// The legend of the timeline's colors, and the scene without what is hidden.
import { expect, test } from "vitest";
import { legendOf, withoutHidden } from "../../../src/widgets/timeline/legend";
import { labelOf } from "../../../src/widgets/timeline/painter";
import type { Scene } from "../../../src/widgets/timeline/scene";

const scene: Scene = {
  rectangles: {
    track: Int16Array.of(0, 1, 1, 2),
    row: new Int16Array(4),
    start_ns: Float64Array.of(0, 1, 5, 6),
    length_ns: Float64Array.of(9, 2, 3, 1),
    busy_ns: Float32Array.of(9, 2, 3, 1),
    count: Int32Array.of(1, 1, 4, 1),
    table: new Int8Array(4),
    index: Int32Array.of(0, 1, 2, 3),
    name: Int32Array.of(0, 1, 2, 1),
    launcher: Int32Array.of(-1, 0, 0, -1),
    kind: Int8Array.of(2, 1, 0, 1),
    look: new Int8Array(4),
    bound_ns: new Float32Array(4),
    module: Int16Array.of(-1, 0, 1, -1),
  },
  names: ["step", "gemm", "copy"],
  full_names: [null, null, null],
  kinds: ["memcpy", "kernel", "step"],
  launchers: ["aten::mm"],
  looks: ["measured"],
  modules: ["Linear_0", "Linear_1"],
  counters: [],
  curves: { at_ns: new Float64Array(0), value: new Float64Array(0), bound: new Float32Array(0) },
  devices: [],
};
const keys = (by: "kind" | "name" | "module"): string[] => legendOf(scene, by).map((one) => one.key);

test("kinds come in their order, names and modules by time, and only what is there", () => {
  expect(keys("kind")).toEqual(["memcpy", "kernel", "step"]);
  expect(legendOf(scene, "name")).toEqual([
    { key: "gemm", busy: 3 },
    { key: "copy", busy: 3 },
  ]);
  expect(keys("module")).toEqual(["Linear_1", "Linear_0", ""]);
});

test("what is hidden has no rectangle; what is left stays in order", () => {
  const rows = (by: "kind" | "name" | "module", ...hidden: string[]) => [
    ...withoutHidden(scene, by, new Set(hidden)).rectangles.index,
  ];
  expect(rows("kind", "kernel")).toEqual([0, 2]);
  expect(rows("name", "gemm", "copy")).toEqual([0]);
  expect(rows("module", "")).toEqual([1, 2]);
  expect(withoutHidden(scene, "kind", new Set())).toBe(scene);
  expect(withoutHidden(scene, "kind", new Set(["kernel"])).rectangles.start_ns).toBeInstanceOf(Float64Array);
});

test("an activity's label has the operator that launched it, that of several how many they are", () => {
  expect([0, 1, 2, 3].map((i) => labelOf(scene, i))).toEqual(["step", "gemm ← aten::mm", "copy + 3", "gemm"]);
});
