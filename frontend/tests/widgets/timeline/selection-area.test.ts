import { expect, test } from "vitest";
import {
  areaText,
  withTrackToggled,
  parseArea,
  tracksBetween,
} from "../../../src/widgets/timeline/selection-area";
import { whole, within } from "../../../src/widgets/timeline/camera";
import { layout, parseLanes, trackId } from "../../../src/widgets/timeline/track-layout";

const RANKS = [4, 9];

test.each([
  ["5..80", { start: 5, stop: 80, tracks: null }],
  ["-5..80@3,12", { start: -5, stop: 80, tracks: [3, 12] }],
  ["5..80@3,9.12", { start: 5, stop: 80, tracks: [3, trackId(1, 12)] }],
])("%s is an area, and is written so", (text, area) => {
  expect(parseArea(text, RANKS)).toEqual(area);
  expect(areaText(area, RANKS)).toBe(text);
});

test("tracks of a rank that is not shown are left out, and what is no area is none", () => {
  expect(parseArea("5..80@3,7.12,x", RANKS)).toEqual({ start: 5, stop: 80, tracks: [3] });
  expect(parseArea("5..80@7.12", RANKS)).toEqual({ start: 5, stop: 80, tracks: null });
  for (const text of [null, "", "80..5", "5..", "@3", "5..80..90"]) expect(parseArea(text, RANKS)).toBeNull();
});

test("an area is at least a nanosecond", () => {
  expect(areaText({ start: 5.2, stop: 5.3, tracks: null }, RANKS)).toBe("5..6");
});

test("the tracks between two heights, headings aside", () => {
  const tracks = ["operators", "frames", "device"].map((kind, id) => ({
    id,
    kind,
    group: "g",
    group_key: "g",
    rows: 1,
    label: kind,
    ranges: 1,
    main: false,
    open: true,
  }));
  const lines = layout(
    [{ rank: 4, title: null, tracks, counters: [], summaries: [] }],
    parseLanes(null, [4]),
  );
  const [heading, first, second] = lines;
  expect(heading?.kind).toBe("group");
  expect(tracksBetween(lines, 0, (heading?.height ?? 0) - 1)).toEqual([]);
  expect(tracksBetween(lines, 2, (first?.y ?? 0) + 1)).toEqual([first?.id]);
  expect(tracksBetween(lines, (first?.y ?? 0) + 3, (second?.y ?? 0) + 3)).toEqual([first?.id, second?.id]);
});

test("a track more, a track less", () => {
  expect(withTrackToggled([3, 7], 5)).toEqual([3, 5, 7]);
  expect(withTrackToggled([3, 7], 3)).toEqual([7]);
});

test("what lies in the recording", () => {
  const all = { start: 10, stop: 90 };
  expect(within(whole(all), all)).toEqual(all);
  expect(within({ start: 20, stop: 200 }, all)).toEqual({ start: 20, stop: 90 });
  for (const outside of [
    { start: -9, stop: 3 },
    { start: 95, stop: 99 },
  ])
    expect(within(outside, all).start).toBe(within(outside, all).stop);
});
