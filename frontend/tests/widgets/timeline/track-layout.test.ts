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
});
const rank = (section: number, number: number, title: string | null): Section => ({
  rank: number,
  title,
  counters: [{ label: "Utilization" }],
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

test("one rank: steps, counters, devices, threads", () => {
  expect(words([rank(0, 4, null)], null, [4])).toEqual([
    "0.0",
    "Counters",
    "c0",
    "Device 0",
    "0.3",
    "Process 1",
    "0.1",
    "0.2-",
  ]);
  expect(words([rank(0, 4, null)], "1,2,p3,g/Counters", [4])).toEqual([
    "Pinned",
    "0.3",
    "0.0",
    "Counters-",
    "Process 1",
    "0.1-",
    "0.2",
  ]);
});

test("of further ranks steps and devices are open, and what the URL says", () => {
  const both = [rank(0, 4, "Rank 4"), rank(1, 9, "Rank 9")];
  const first = ["Rank 4", "0.0", "Counters", "c0", "Device 0", "0.3", "Process 1", "0.1", "0.2-"];
  expect(words(both, null, [4, 9])).toEqual([
    ...first,
    "Rank 9",
    "1.0",
    "Counters-",
    "Device 0",
    "1.3",
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
    only: "",
  });
});

test("a link folds the same groups in another language", () => {
  const section = rank(0, 4, null);
  const chinese = {
    ...section,
    tracks: section.tracks.map((one) => ({ ...one, group: one.group.replace("Process", "进程") })),
  };
  expect(words([chinese], "g/Process 1", [4])).toEqual([
    "0.0",
    "Counters",
    "c0",
    "Device 0",
    "0.3",
    "进程 1-",
  ]);
});

test("only tracks with these words are shown, and pinned ones", () => {
  expect(words([rank(0, 4, null)], "wprocess OPER", [4])).toEqual(["0.0", "Process 1", "0.1"]);
  expect(words([rank(0, 4, null)], "p2,wdevice", [4])).toEqual(["Pinned", "0.2-", "0.0", "Device 0", "0.3"]);
  expect(words([rank(0, 4, null), rank(1, 9, "Rank 9")], "wutilization,g9/Counters", [4, 9])).toEqual([
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
  expect(order).toEqual(["/Counters", "/Process 1", "/Device 0"]);
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
