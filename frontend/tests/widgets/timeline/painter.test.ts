// What the color of a rectangle tells, and where it is kept.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { fillOf } from "../../../src/widgets/timeline/painter";
import type { Scene } from "../../../src/widgets/timeline/scene";

const column = {
  track: Int16Array.of(0, 0, 0),
  row: Int16Array.of(0, 0, 0),
  start_ns: Float64Array.of(0, 1, 2),
  length_ns: new Float64Array(3),
  busy_ns: new Float32Array(3),
  count: Int32Array.of(1, 1, 1),
  table: new Int8Array(3),
  index: Int32Array.of(0, 1, 2),
  look: new Int8Array(3),
  bound_ns: new Float32Array(3),
};
const scene: Scene = {
  rectangles: {
    ...column,
    name: Int32Array.of(0, 1, 0),
    launcher: Int32Array.of(-1, 0, -1),
    kind: Int8Array.of(0, 1, 1),
    module: Int16Array.of(0, 0, -1),
  },
  names: ["aten::mm", "gemm"],
  full_names: [null],
  kinds: ["operator", "kernel"],
  modules: ["Linear_0"],
  launchers: ["aten::mm"],
  looks: ["measured"],
  counters: [],
  curves: { at_ns: new Float64Array(0), value: new Float64Array(0), bound: new Float32Array(0) },
  devices: [],
};
const palette = {
  of: { operator: "#cpu", kernel: "#kernel" },
  names: ["#1", "#2", "#3"],
  none: "#grey",
  muted: "#muted",
};
const fills = (by: "kind" | "name" | "module"): string[] =>
  [0, 1, 2].map((i) => fillOf(scene, i, by, palette));

test("by kind, by name, and by module, grey outside of all", () => {
  expect(fills("kind")).toEqual(["#cpu", "#kernel", "#kernel"]);
  const [mm, gemm, again] = fills("name");
  expect([mm === again, palette.names.includes(mm ?? ""), palette.names.includes(gemm ?? "")]).toEqual([
    true,
    true,
    true,
  ]);
  const [operator, kernel, outside] = fills("module");
  expect([operator === kernel, palette.names.includes(operator ?? ""), outside]).toEqual([
    true,
    true,
    "#grey",
  ]);
});

describe("the palette is kept in the browser", () => {
  const stored = new Map<string, string>();
  const dataset: Record<string, string> = {};
  beforeEach(() => {
    vi.resetModules();
    stored.clear();
    vi.stubGlobal("localStorage", {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
      removeItem: (key: string) => stored.delete(key),
    });
    vi.stubGlobal("document", { documentElement: { dataset } });
    delete dataset["palette"];
  });
  test("and told to the style sheet", async () => {
    const { connect, chooseSafe } = await import("../../../src/state/palette");
    connect();
    expect(dataset["palette"]).toBeUndefined();
    chooseSafe(true);
    expect([dataset["palette"], [...stored.values()]]).toEqual(["safe", ["safe"]]);
    vi.resetModules();
    const next = await import("../../../src/state/palette");
    expect(next.safe.value).toBe(true);
    next.chooseSafe(false);
    expect(stored.size).toBe(0);
  });
  test("and works where nothing may be stored", async () => {
    const forbidden = (): never => {
      throw new Error("SecurityError");
    };
    vi.stubGlobal("localStorage", { getItem: forbidden, setItem: forbidden, removeItem: forbidden });
    const { safe, connect, chooseSafe } = await import("../../../src/state/palette");
    connect();
    expect(safe.value).toBe(false);
    chooseSafe(true);
    expect(dataset["palette"]).toBe("safe");
  });
});
