// Counters of the timeline: where they lie, what is under the pointer, how they are told.
import { describe, expect, test } from "vitest";
import { counted } from "../../../src/lib/format";
import { lanesText, layout, parseLanes, type Section } from "../../../src/widgets/timeline/track-layout";
import { greatest } from "../../../src/widgets/timeline/painter";
import { valueAt, entryAt, partAt, type Scene } from "../../../src/widgets/timeline/scene";

const MEMORY = { label: "Memory", unit: "bytes", inferred: false, first: 0, points: 1 };
const WAITING = { label: "Waiting", unit: "kernels", inferred: true, first: 1, points: 3 };
const counters = [MEMORY, WAITING];
const curves = {
  at_ns: Float64Array.of(0, 10, 20, 40),
  value: Float64Array.of(7, 1, 5, 0),
  bound: Float32Array.of(0, 1, -1, 0),
};
const none = new Int32Array(0);
const scene: Scene = {
  rectangles: {
    track: new Int16Array(0),
    row: new Int16Array(0),
    start_ns: new Float64Array(0),
    length_ns: new Float64Array(0),
    busy_ns: new Float32Array(0),
    count: none,
    table: new Int8Array(0),
    index: none,
    name: none,
    launcher: none,
    kind: new Int8Array(0),
    look: new Int8Array(0),
    bound_ns: new Float32Array(0),
    module: new Int16Array(0),
  },
  names: [],
  full_names: [null],
  kinds: [],
  looks: [],
  modules: [],
  launchers: [],
  counters,
  curves,
  devices: [],
};

test("an entry holds until the next one", () => {
  expect([5, 10, 19, 20, 39, 40, 1000].map((at) => entryAt(curves, WAITING, at))).toEqual([
    null,
    1,
    1,
    2,
    2,
    3,
    3,
  ]);
  expect(entryAt(curves, { ...WAITING, points: 0 }, 50)).toBeNull();
});

const rank = (of: Section["counters"]): Section => ({
  rank: 0,
  title: null,
  tracks: [],
  counters: of,
  summaries: [],
});

describe("the lines of counters", () => {
  const lines = layout([rank(counters)], parseLanes("g/Counters", [0]));
  test("under their heading, each with what is there", () => {
    expect(lines.map((line) => [line.kind, line.label])).toEqual([
      ["group", "Counters"],
      ["counter", "Memory"],
      ["counter", "Waiting"],
    ]);
    const camera = { start: 0, stop: 100 };
    const y = (lines[2]?.y ?? 0) + 1;
    expect(valueAt(scene, lines, camera, 200, 50, y)).toEqual({
      kind: "counter",
      counter: counters[1],
      entry: 2,
    });
    expect(valueAt(scene, lines, camera, 200, 4, y)).toBeNull();
    expect(valueAt(scene, lines, camera, 200, 50, 1)).toBeNull();
    expect(valueAt(scene, lines, camera, 200, 50, 10_000)).toBeNull();
  });
  test("are closed at first, and the URL has that they are open", () => {
    const open = parseLanes("3,p5,g/Counters", [0]);
    expect(open.groups).toEqual(new Set(["/Counters"]));
    expect(lanesText(open, [0])).toBe("3,p5,g/Counters");
    const closed = { ...open, groups: new Set<string>() };
    expect(layout([rank(counters)], closed).map((line) => line.kind)).toEqual(["group"]);
    expect(layout([rank([])], open)).toEqual([]);
  });
});

test("the part of a device's summary that holds a time", () => {
  const families = [{ kind: "gemm" as const, busy_ns: 5, per_mille: Int16Array.of(0, 500, 1000, 250) }];
  const device = { inferred: false, start: 100, stop: 200, families };
  expect([99, 100, 149, 199, 200].map((at) => partAt(device, at))).toEqual([null, 0, 1, 3, null]);
});

test("the top of a scale", () => {
  expect(counters.map((one) => greatest(one, curves))).toEqual([7, 5]);
  expect(greatest({ ...MEMORY, unit: "share" }, curves)).toBe(1);
  expect(greatest({ ...MEMORY, points: 0 }, curves)).toBe(0);
});

test.each([
  [0.25, "share", "25.0 %"],
  [1536, "bytes", "1.50 KiB"],
  [1.5e9, "bytes/s", "1.50 GB/s"],
  [2.5e12, "bytes/s", "2,500 GB/s"],
  [1, "kernels", "1 kernel"],
  [1200, "kernels", "1,200 kernels"],
  [12, "kernels/ms", "12 per ms"],
  [2.4567, "kernels/ms", "2.46 per ms"],
])("%d %s", (value, unit, text) => expect(counted(value, unit)).toBe(text));
