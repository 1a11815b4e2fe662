// @vitest-environment happy-dom
import { deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { TimelineLevel } from "../../src/api/types";
import { inflated, type ReportData } from "../../src/report/data";
import { waysOf } from "../../src/report/ways";

const STEP: TimelineLevel = {
  id: "level-1",
  kind: "step",
  label: "step",
  start_ns: 100,
  stop_ns: 300,
  rectangles: 5,
  merged: 0,
};

const data = (levels: readonly TimelineLevel[]): ReportData =>
  ({
    trace: {
      place: { rank: 0 },
      advice: { rows: [{ evidence: [{ table: "ops", row: 5, start_ns: 150 }] }] },
    },
    timeline: { levels, left_out: 0 },
  }) as unknown as ReportData;

describe("links in a report", () => {
  const way = waysOf(data([STEP]));
  test.each([
    [{ view: "timeline", range: "1..2" }, "#timeline"],
    [{ view: "timeline", item: "ops:5" }, "#timeline"],
    [{ view: "advice" }, "#issues"],
    [{ view: "advice", selected: "host_bound" }, "#issue-host_bound"],
  ])("%j lead to its parts", (changes, href) => {
    expect(way(changes)?.href).toBe(href);
  });
  test.each([
    { view: "kernels", filter: "name = x" },
    { view: "timeline", item: "ops:6" },
    { event: "ops/5" },
    { view: "advice", rank: 1 },
  ])("%j lead nowhere", (changes) => expect(way(changes)).toBeNull());
  test("without levels nothing leads to the timeline", () => {
    expect(waysOf(data([]))({ view: "timeline", range: "1..2" })).toBeNull();
  });
});

test("a level's text is unpacked", async () => {
  const packed = deflateSync(Buffer.from([1, 2, 3])).toString("base64");
  expect([...new Uint8Array(await inflated(packed))]).toEqual([1, 2, 3]);
});
