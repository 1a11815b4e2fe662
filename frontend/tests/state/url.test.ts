import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { inTensorBoard, type FakeWindow } from "../support/browser";

let parent: FakeWindow;
let module: typeof import("../../src/state/url");

async function open(hash: string): Promise<void> {
  vi.resetModules();
  parent = inTensorBoard(`http://host/${hash}`);
  module = await import("../../src/state/url");
  module.follow();
}

beforeEach(() => open(""));
afterEach(() => vi.unstubAllGlobals());

describe("URL", () => {
  test("no hash is the default selection", () => {
    expect(Object.values(module.state.value).every((v) => v === null)).toBe(true);
  });
  test("a copied link restores everything", async () => {
    module.go({ view: "kernels" });
    module.go({ run: "a/b & c=d é", rank: 0, span: 2, step: 17 });
    module.go({ sort: "-total_ns,name", filter: 'name = "f<4, g>" calls > 1', group: "name" }, "replace");
    const before = module.state.value;
    const hash = parent.location.hash;
    await open(hash);
    expect(module.state.value).toEqual(before);
    expect(hash.startsWith("#privateuse1&p.privateuse1.")).toBe(true);
  });
  test("what belongs to others stays", () => {
    const hash = module.serialize("#scalars&tagFilter=x%20y&p.other.run=1&p.privateuse1.rank=3", { ...module.state.value, rank: 4 });
    expect(hash).toBe("#scalars&tagFilter=x%20y&p.other.run=1&p.privateuse1.rank=4");
  });
  test("what cannot be read is the default", () => {
    const state = module.parse("#privateuse1&p.privateuse1.rank=x&p.privateuse1.step=-1&p.privateuse1.run=%E0%A4%A&p.privateuse1.span=&p.privateuse1.nope=1");
    expect(Object.values(state).every((v) => v === null)).toBe(true);
  });
  test("linkTo leaves the selection as it is", () => {
    const link = module.linkTo({ view: "operators", filter: "mm" });
    expect(module.parse(link.slice(link.indexOf("#")))).toMatchObject({ view: "operators", filter: "mm" });
    expect(module.state.value.view).toBeNull();
  });
});

describe("history", () => {
  test("a selection is an entry, typing in a filter is none", () => {
    module.go({ rank: 1 });
    module.go({ filter: "m" }, "replace");
    module.go({ filter: "mm" }, "replace");
    expect(parent.history.entries).toHaveLength(2);
    module.go({ rank: 1 });
    expect(parent.history.entries).toHaveLength(2);
  });
  test("a record stays open while the page behind it settles", () => {
    module.go({ event: "ops/3" });
    module.go({ range: "0..9" }, "replace");
    expect(module.state.value.event).toBe("ops/3");
    module.go({ rank: 1 });
    expect(module.state.value.event).toBeNull();
  });
  test("Back is followed", () => {
    module.go({ view: "kernels", filter: "mm" });
    parent.history.entries.pop();
    parent.dispatchEvent(new Event("popstate"));
    expect(module.state.value).toMatchObject({ view: null, filter: null });
  });
  test("while another tab is shown its URL is not ours", () => {
    module.go({ rank: 1 });
    (window as unknown as FakeWindow).innerHeight = 0;
    return import("../../src/lib/tensorboard-host").then((host) => {
      host.shown.value = false;
      parent.location.hash = "#scalars";
      expect(module.state.value.rank).toBe(1);
    });
  });
});

test.each([
  [{ step: 4 }, "calls:12", null], [{ run: "s" }, "12", null], [{ rank: 3 }, "calls:12", null], [{ span: 2 }, "12", null],
  [{ step: 4 }, "Net_0/Linear_1", "Net_0/Linear_1"], [{ step: 3 }, "calls:12", "calls:12"], [{ sort: "-a" }, "12", "12"],
])("after %o the row %s is %s", (changes, before, after) => {
  module.go({ step: 3, selected: before });
  module.go(changes);
  expect(module.state.value.selected).toBe(after);
});

describe("what depends on what", () => {
  test.each([
    [{ view: "operators" }, { sort: null, filter: null, group: null, columns: null, device: null, range: null, scale: null, by: null, levels: null, zoom: null, selected: null, item: null, find: null, lanes: null, marks: null, area: null, step: 3 }],
    [{ run: "other" }, { rank: null, span: null, step: null, device: null, range: null, item: null, marks: null, filter: "f" }],
    [{ rank: 9 }, { span: null, step: null, run: "r" }],
    [{ span: 9 }, { step: null, rank: 1 }],
    [{ step: 9 }, { span: 2, filter: "f", device: "6/0", range: null, zoom: null, levels: "modules" }],
    [{ view: "operators", filter: "new" }, { filter: "new", sort: null }],
    [{ step: 9 }, { event: null }],
    [{ run: "s" }, { changes: null, critical: null }],
    [{ view: "operators" }, { changes: "aten::mm=0.5\ncopies=0", critical: null }],
    [{ sort: "-a" }, { event: null, filter: "f" }],
    [{ base: "c" }, { run: "r", step: 3, ranks: "3,9", baserank: null, basespan: null, basestep: null }],
    [{ baserank: 5 }, { base: "b", basespan: null, basestep: null }],
    [{ basespan: 5 }, { baserank: 2, basestep: null }],
    [{ step: 9, view: "operators" }, { ranks: null, colors: null, base: "b", basestep: 4 }],
    [{ event: "ops/7" }, { view: "kernels", filter: "f", step: 3 }],
  ])("%o", (changes, expected) => {
    module.state.value = {
      view: "kernels", run: "r", rank: 1, span: 2, step: 3, sort: "s", filter: "f", group: "g", columns: "t:a", device: "6/0", range: "1..2", scale: "fit", event: "kernels/5", by: "host", levels: "modules", zoom: "a;b", selected: "x", aside: "r", changes: "aten::mm=0.5\ncopies=0", critical: "1",
      item: "kernels:1", find: "mm", lanes: "3,p5", marks: "7", area: "1..2@3", ranks: "3,9", colors: "module", sql: "select 1 && a=b", base: "b", baserank: 2, basespan: 3, basestep: 4,
    };
    module.go(changes);
    expect(module.state.value).toMatchObject({ ...changes, ...expected });
  });
});
