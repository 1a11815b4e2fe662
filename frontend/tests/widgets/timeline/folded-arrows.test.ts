// Where an arrow ends whose range is in a folded track or group.
import { expect, test } from "vitest";
import { place, placeOrFold } from "../../../src/widgets/timeline/critical-path-line";
import type { Spot, View } from "../../../src/widgets/timeline/scene";
import { layout, parseLanes, type Section } from "../../../src/widgets/timeline/track-layout";

const section: Section = {
  rank: 0,
  title: null,
  counters: [],
  summaries: [],
  tracks: [
    {
      id: 1,
      kind: "operators",
      group: "P",
      group_key: "P",
      rows: 3,
      label: "t",
      ranges: 1,
      main: false,
      open: true,
    },
    {
      id: 2,
      kind: "device",
      group: "D",
      group_key: "D",
      rows: 1,
      label: "s",
      ranges: 1,
      main: false,
      open: true,
    },
  ],
};
const view = (lanes: string | null, heights = {}): View => ({
  camera: { start: 0, stop: 100 },
  width: 1000,
  height: 400,
  top: 0,
  lines: layout([section], parseLanes(lanes, [0]), heights),
});
const spot: Spot = { track: 1, row: 2, start: 10, end: 20 };

test("open, it has its row; in a folded track the first row, in a folded group the heading", () => {
  const open = view(null);
  const line = open.lines.find((one) => one.id === 1);
  expect(place(spot, open)?.y).toBe((line?.y ?? 0) + 2 * (line?.row_px ?? 0));
  expect(placeOrFold(spot, open)).toEqual(place(spot, open));
  const folded = view("1");
  expect(place(spot, folded)).toBeNull();
  expect(placeOrFold(spot, folded)?.y).toBe(folded.lines.find((one) => one.id === 1)?.y);
  const closed = view("g/P");
  expect(placeOrFold(spot, closed)?.y).toBe(closed.lines.find((one) => one.label === "P")?.y);
  expect(placeOrFold(spot, closed)?.left).toBe(100);
  expect(placeOrFold(spot, view("wnothing"))).toBeNull();
});

test("rows are as high as the reader wants them", () => {
  const high = view(null, { operators: 30 });
  expect(place(spot, high)?.bar).toBe(28);
  expect(high.lines.find((one) => one.id === 1)?.height).toBe(97);
});
