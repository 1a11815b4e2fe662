// @vitest-environment happy-dom
import { expect, test } from "vitest";
import {
  absentOf,
  entriesOf,
  entryOf,
  rowsOf,
  tabsOf,
  type Entry,
  type Known,
} from "../../src/pages/entries";
import type { Overview } from "../../src/api/types";
import { partialOf } from "../../src/pages/shared/partial-recording";
import { PAGES } from "../../src/pages";
import { state, type State } from "../../src/state/url";

const ALL: Known = {
  contents: ["kernels", "calls", "modules", "functions", "memory", "counters"],
  absent: [],
  ranks: 2,
  partial: null,
  sql: true,
};
const at = (changes: Partial<State>): State => ({ ...state.value, ...changes });
const keys = (known: Known): string[] => entriesOf(known).map((e) => e.name);
const time = entryOf("operators") as Entry;

test("every page but that of the recording has an entry", () => {
  expect(PAGES.filter((p) => entryOf(p.name) === null).map((p) => p.name)).toEqual(["recording"]);
});

test("entries without data are absent, and the line says what is not recorded", () => {
  expect(keys(ALL)).toEqual(["summary", "timeline", "time", "memory", "ranks", "compare", "sql"]);
  expect(absentOf(ALL)).toEqual([]);
  const host: Known = {
    contents: ["functions"],
    absent: [
      { content: "memory", reason: "nothing_came" },
      { content: "modules", reason: "not_asked" },
    ],
    ranks: 1,
    partial: null,
    sql: false,
  };
  expect(keys(host)).toEqual(["summary", "timeline", "time", "compare"]);
  expect(absentOf(host).map((one) => [one.title, one.to.view])).toEqual([
    ["memory (no events came, though profile_memory was on)", "memory"],
    ["modules (with_modules)", "recording"],
    ["other ranks (one file each)", "recording"],
  ]);
});

test.each(["no_events", "nothing_read"] as const)("a file with %s has the pages that show files", (code) => {
  const pages = PAGES.filter((page) => page.alone === undefined && page.ofPartial?.includes(code));
  expect(pages.map((page) => page.name)).toEqual(["diff", "recording", "sql"]);
  const provenance = { warnings: [{ code }] } as unknown as Overview["provenance"];
  expect(partialOf({ provenance })).toBe(code);
});

test("nothing is left out before the recording is read", () => {
  const unknown: Known = { ...ALL, contents: null, ranks: 1 };
  expect(keys(unknown)).toContain("memory");
  expect(absentOf(unknown)).toEqual([]);
});

test("a flight recorder's dump alone is of ranks, and no option would bring the rest", () => {
  const dump: Known = {
    ...ALL,
    absent: [{ content: "memory", reason: "not_asked" }],
    partial: "flight_recorder_alone",
  };
  expect(absentOf(dump)).toEqual([]);
  expect(keys({ ...ALL, ranks: 1, partial: "flight_recorder_alone" })).toContain("ranks");
});

test.each([
  [{ view: "operators" }, "operators", "table"],
  [{ view: "operators", group: "shapes" }, "operators", "table"],
  [{ view: "operators", group: "stack" }, "functions", "table"],
  [{ view: "kernels" }, "kernels", "table"],
  [{ view: "runtime" }, "calls", "table"],
  [{ view: "modules" }, "modules", "tree"],
  [{ view: "flame" }, "functions", "flame"],
  [{ view: "flame", levels: "operators" }, "operators", "flame"],
  [{ view: "flame", levels: "modules" }, "modules", "flame"],
  [{ view: "roofline" }, "operators", "roofline"],
  [{ view: "roofline", by: "shape" }, "operators", "roofline"],
  [{ view: "roofline", by: "kernel" }, "kernels", "roofline"],
  [{ view: "roofline", by: "module" }, "modules", "roofline"],
])("an address %o shows its rows in a drawing", (address, rows, drawing) => {
  expect(rowsOf(at(address))).toEqual([rows, drawing]);
  const [by, as] = tabsOf(time, at(address), ALL);
  expect(by?.tabs.find((tab) => tab.isCurrent)?.key).toBe(rows);
  expect(as?.tabs.find((tab) => tab.isCurrent)?.key).toBe(drawing);
});

test("a tab leads where it says", () => {
  for (const group of tabsOf(time, at({ view: "operators" }), ALL))
    for (const tab of group.tabs) {
      const [rows, drawing] = rowsOf(at({ group: null, levels: null, by: null, ...tab.to }));
      expect([rows, drawing]).toContain(tab.key);
    }
});

test("other rows keep the drawing if they have it", () => {
  const [by] = tabsOf(time, at({ view: "roofline" }), ALL);
  const to = (key: string) => by?.tabs.find((tab) => tab.key === key)?.to.view;
  expect([to("kernels"), to("modules"), to("calls"), to("functions")]).toEqual([
    "roofline",
    "roofline",
    "runtime",
    "operators",
  ]);
});

test("what a filter asks of names goes along, figures stay behind", () => {
  const filterOf = (filter: string) =>
    tabsOf(time, at({ view: "operators", filter }), ALL)[0]?.tabs[1]?.to.filter;
  expect(filterOf("softmax")).toBe("softmax");
  expect(filterOf('name = "aten::mm"')).toBe("aten::mm");
  expect(filterOf('"a, b"')).toBe('"a, b"');
  expect(filterOf("device_total > 1 ms")).toBe(null);
});

test("rows that were not recorded have no tab, unless they are shown", () => {
  const host: Known = { ...ALL, contents: ["functions"] };
  const rows = (address: Partial<State>) => tabsOf(time, at(address), host)[0]?.tabs.map((tab) => tab.key);
  expect(rows({ view: "operators" })).toEqual(["operators", "functions"]);
  expect(rows({ view: "kernels" })).toEqual(["operators", "kernels", "functions"]);
  expect(tabsOf(time, at({ view: "operators" }), host)[1]?.tabs.map((tab) => tab.key)).toEqual([
    "table",
    "flame",
  ]);
});

test("counters are a tab of the timeline where there are any", () => {
  const timeline = entryOf("timeline") as Entry;
  expect(tabsOf(timeline, at({ view: "timeline" }), ALL)[0]?.tabs.map((tab) => tab.key)).toEqual([
    "timeline",
    "counters",
  ]);
  expect(tabsOf(timeline, at({ view: "timeline" }), { ...ALL, contents: ["kernels"] })).toEqual([]);
});
