import { expect, test } from "vitest";
import {
  isFolded,
  lanesText,
  layout,
  parseLanes,
  raised,
  sectionOf,
  trackId,
  trackOf,
  type Section,
  type TrackShape,
} from "../../../src/widgets/timeline/track-layout";

const track = (section: number, id: number, kind: string, group: string, rows = 1): TrackShape => ({
  id: trackId(section, id),
  kind,
  group,
  group_key: group,
  rows,
  label: `${kind}${id}`,
  ranges: 10 * (id + 1),
  main: false,
  open: kind !== "frames",
});
const rank = (section: number, number: number, title: string | null): Section => ({
  rank: number,
  title,
  counters: [{ label: "Utilization" }],
  summaries: [],
  tracks: [
    track(section, 0, "steps", "Steps"),
    track(section, 1, "operators", "Process 1", 3),
    track(section, 2, "frames", "Process 1", 9),
    track(section, 3, "device", "Device 0"),
  ],
});
const NOTHING = parseLanes(null, [4]);
const words = (sections: readonly Section[], text: string | null, ranks: readonly number[]): string[] =>
  layout(sections, parseLanes(text, ranks)).map((line) =>
    line.kind === "track"
      ? `${sectionOf(line.id)}.${trackOf(line.id)}${line.folded ? "-" : ""}`
      : line.kind === "counter"
        ? `c${line.id}`
        : line.label + (line.folded ? "-" : ""),
  );

test("one rank: steps, devices, counters, threads", () => {
  expect(words([rank(0, 4, null)], null, [4])).toEqual([
    "0.0",
    "Device 0",
    "0.3",
    "Counters-",
    "Process 1",
    "0.1",
    "0.2-",
  ]);
  expect(words([rank(0, 4, null)], "1,2,p3,g/Counters", [4])).toEqual([
    "Pinned",
    "0.3",
    "0.0",
    "Counters",
    "c0",
    "Process 1",
    "0.1-",
    "0.2",
  ]);
});

test("of further ranks steps and devices are open, and what the URL says", () => {
  const both = [rank(0, 4, "Rank 4"), rank(1, 9, "Rank 9")];
  const first = ["Rank 4", "0.0", "Device 0", "0.3", "Counters-", "Process 1", "0.1", "0.2-"];
  expect(words(both, null, [4, 9])).toEqual([
    ...first,
    "Rank 9",
    "1.0",
    "Device 0",
    "1.3",
    "Counters-",
    "Process 1-",
  ]);
  expect(words(both, "9.1,p9.3,g9/Process 1,g9/Counters", [4, 9])).toEqual([
    "Pinned",
    "1.3",
    ...first,
    "Rank 9",
    "1.0",
    "Counters",
    "c1",
    "Process 1",
    "1.1-",
    "1.2-",
  ]);
});

test("what belongs to a rank that is not shown, or is nothing, is left out", () => {
  expect(parseLanes("7.3,p7.1,x,p,4,99999999", [4, 9])).toEqual({
    toggled: new Set([4]),
    pinned: [],
    groups: new Set(),
    order: [],
    hidden: new Set(),
    only: "",
  });
  // Of older links: counters are closed anyway.
  expect(parseLanes("c", [4])).toEqual(NOTHING);
});

test("what is hidden has no line, and the URL says so", () => {
  const found = parseLanes("h1,h/Counters", [4]);
  expect(lanesText(found, [4])).toBe("h1,h/Counters");
  expect(layout([rank(0, 4, null)], found).map((line) => line.label)).toEqual([
    "steps0",
    "Device 0",
    "device3",
    "Process 1",
    "frames2",
  ]);
});

test("a device's summary stands below its heading, with a row for each family once it is open", () => {
  const section = { ...rank(0, 4, null), summaries: [{ group_key: "Device 0", families: ["gemm", "copy"] }] };
  const of = (text: string | null) =>
    layout([section], parseLanes(text, [4])).filter((line) => line.kind === "summary");
  const [closed] = of(null);
  expect([closed?.id, closed?.folded, closed?.y]).toEqual([0, true, 46]);
  const [open] = of("g/Device 0/families");
  expect([open?.folded, open?.height]).toEqual([false, 2 * (open?.row_px ?? 0) + 7]);
  expect(of("g/Device 0")).toHaveLength(1);
});

test("the main thread is on the first screen, whatever the number of streams and threads", () => {
  const streams = Array.from({ length: 20 }, (_, i) => track(0, 10 + i, "device", "Device 0"));
  const busy = Array.from({ length: 9 }, (_, i) => track(0, 40 + i, "operators", "Process 1", 4));
  const main = { ...track(0, 60, "operators", "Process 2"), main: true, ranges: 1 };
  const section = {
    ...rank(0, 4, null),
    tracks: [...busy, main, ...streams],
    summaries: [{ group_key: "Device 0", families: ["gemm"] }],
  };
  const lines = layout([section], NOTHING);
  expect(lines.find((line) => line.kind === "group")).toMatchObject({ label: "Device 0", folded: true });
  expect(lines.find((line) => line.id === 60)?.y).toBeLessThan(150);
});

test("Python's frames that limit the steps show all of their rows", () => {
  const frames = { ...track(0, 2, "frames", "Process 1", 9), open: true };
  expect(isFolded(frames, NOTHING)).toBe(false);
  expect(isFolded(frames, parseLanes("2", [4]))).toBe(true);
});

test("a link folds the same groups in another language", () => {
  const section = rank(0, 4, null);
  const chinese = {
    ...section,
    tracks: section.tracks.map((one) => ({ ...one, group: one.group.replace("Process", "进程") })),
  };
  expect(words([chinese], "g/Process 1", [4])).toEqual(["0.0", "Device 0", "0.3", "Counters-", "进程 1-"]);
});

test("only tracks with these words are shown, and pinned ones", () => {
  expect(words([rank(0, 4, null)], "wprocess OPER", [4])).toEqual(["0.0", "Process 1", "0.1"]);
  expect(words([rank(0, 4, null)], "p2,wdevice", [4])).toEqual(["Pinned", "0.2-", "0.0", "Device 0", "0.3"]);
  expect(words([rank(0, 4, null), rank(1, 9, "Rank 9")], "wutilization", [4, 9])).toEqual([
    "0.0",
    "Counters",
    "c0",
    "Rank 9",
    "1.0",
    "Counters",
    "c1",
  ]);
  expect(words([rank(0, 4, null)], "wnowhere", [4])).toEqual(["0.0"]);
});

test("the URL keeps it all", () => {
  const text = "3,9.1,p5,p9.2,g/a%2Cb,g9/50%25,o/Process 1,o9/x,wa%2C b";
  const found = parseLanes(text, [4, 9]);
  expect(found.groups).toEqual(new Set(["/a,b", "9/50%"]));
  expect(lanesText(found, [4, 9])).toBe(text);
  expect(lanesText(NOTHING, [4])).toBe(null);
});

test("a group moves up", () => {
  const sections = [rank(0, 4, null)];
  const lines = layout(sections, NOTHING);
  const order = raised(lines, "/Process 1", []);
  expect(order).toEqual(["/Device 0", "/Process 1", "/Counters"]);
  expect(
    layout(sections, { ...NOTHING, order })
      .filter((l) => l.kind === "group")
      .map((l) => l.key),
  ).toEqual(order);
  expect(raised(lines, "/Counters", order)).toEqual(["/Counters", "/Device 0", "/Process 1"]);
});

test("lines follow each other without a gap", () => {
  const lines = layout([rank(0, 4, "Rank 4"), rank(1, 9, "Rank 9")], parseLanes("2,9.2", [4, 9]));
  for (const [i, line] of lines.entries()) {
    const above = lines[i - 1];
    expect(line.y).toBe(above ? above.y + above.height : 0);
  }
  expect(isFolded(track(0, 2, "frames", "Process 1", 9), NOTHING)).toBe(true);
});
