import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { OLD_PAGES, PAGE_KEYS } from "../../src/pages/url-keys";
import type { UrlKey } from "../../src/state/url-key";
import { inTensorBoard, type FakeWindow } from "../support/browser";

let parent: FakeWindow;
let module: typeof import("../../src/state/url");

async function open(hash: string): Promise<void> {
  vi.resetModules();
  parent = inTensorBoard(`http://host/${hash}`);
  module = await import("../../src/state/url");
  module.follow(PAGE_KEYS, OLD_PAGES);
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
  test.each(["quality", "method", "about"])("a link to the old page %s opens its section", async (view) => {
    await open(`#privateuse1&p.privateuse1.view=${view}&p.privateuse1.run=r&p.privateuse1.filter=code`);
    expect(module.state.value).toMatchObject({ view: "recording", section: view, run: "r", filter: "code" });
  });
  test("what belongs to others stays", () => {
    const hash = module.serialize("#scalars&tagFilter=x%20y&p.other.run=1&p.privateuse1.rank=3", {
      ...module.state.value,
      rank: 4,
    });
    expect(hash).toBe("#scalars&tagFilter=x%20y&p.other.run=1&p.privateuse1.rank=4");
  });
  test("what cannot be read is the default", () => {
    const state = module.parse(
      "#privateuse1&p.privateuse1.rank=x&p.privateuse1.step=-1&p.privateuse1.run=%E0%A4%A&p.privateuse1.span=&p.privateuse1.nope=1",
    );
    expect(Object.values(state).every((v) => v === null)).toBe(true);
  });
  test("the selection stands before the page's own keys", () => {
    module.go({ filter: "gemm", view: "kernels", run: "mlp" });
    expect(parent.location.hash).toBe(
      "#privateuse1&p.privateuse1.view=kernels&p.privateuse1.run=mlp&p.privateuse1.filter=gemm",
    );
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
  ["operators", { step: 4 }, "calls:12", null],
  ["operators", { run: "s" }, "12", null],
  ["operators", { rank: 3 }, "calls:12", null],
  ["kernels", { span: 2 }, "12", null],
  ["modules", { step: 4 }, "Net_0/Linear_1", "Net_0/Linear_1"],
  ["modules", { step: 4 }, "0", "0"],
  ["operators", { step: 3 }, "calls:12", "calls:12"],
  ["operators", { sort: "-a" }, "12", "12"],
])("on %s, after %o the row %s is %s", (view, changes, before, after) => {
  module.go({ view, step: 3, selected: before });
  module.go(changes);
  expect(module.state.value.selected).toBe(after);
});

describe("what depends on what", () => {
  test.each([
    [
      { view: "operators" },
      {
        sort: null,
        filter: null,
        group: null,
        columns: null,
        device: null,
        range: null,
        scale: null,
        by: null,
        levels: null,
        zoom: null,
        tree: null,
        frame: null,
        libraries: null,
        ignore: null,
        width: null,
        selected: null,
        instance: null,
        item: null,
        find: null,
        lanes: null,
        marks: null,
        area: null,
        matching: null,
        picked: null,
        step: 3,
      },
    ],
    [
      { run: "other" },
      { rank: null, span: null, step: null, device: null, range: null, item: null, marks: null, filter: "f" },
    ],
    [{ rank: 9 }, { span: null, step: null, run: "r" }],
    [{ span: 9 }, { step: null, rank: 1 }],
    [{ step: 9 }, { span: 2, filter: "f", device: "6/0", range: null, zoom: null, levels: "modules" }],
    [
      { view: "operators", filter: "new" },
      { filter: "new", sort: null },
    ],
    [{ step: 9 }, { event: null, instance: null }],
    [{ selected: "y" }, { instance: null, filter: "f" }],
    [{ instance: 6 }, { selected: "x", event: null }],
    [{ run: "s" }, { changes: null, critical: null }],
    [{ view: "operators" }, { section: null, changes: "aten::mm=0.5\ncopies=0", critical: null }],
    [{ sort: "-a" }, { event: null, filter: "f" }],
    [{ base: "c" }, { run: "r", step: 3, ranks: "3,9", baserank: null, basespan: null, basestep: null }],
    [{ baserank: 5 }, { base: "b", basespan: null, basestep: null }],
    [{ basespan: 5 }, { baserank: 2, basestep: null }],
    [
      { step: 9, view: "operators" },
      { ranks: null, colors: null, base: "b", basestep: 4 },
    ],
    [{ event: "ops/7" }, { view: "kernels", filter: "f", step: 3 }],
  ])("%o", (changes, expected) => {
    module.state.value = {
      view: "kernels",
      run: "r",
      rank: 1,
      span: 2,
      step: 3,
      window: null,
      sort: "s",
      filter: "f",
      group: "g",
      counter: 2,
      columns: "t:a",
      device: "6/0",
      range: "1..2",
      scale: "fit",
      event: "kernels/5",
      by: "host",
      sweep: "lr",
      levels: "modules",
      zoom: "a;b",
      tree: "bottom_up",
      frame: "f",
      libraries: "ignored",
      ignore: "vllm/",
      width: "now",
      alive: "peak",
      selected: "x",
      instance: 5,
      aside: "r",
      changes: "aten::mm=0.5\ncopies=0",
      critical: "1",
      dtype: "bf16",
      list: "roofs",
      item: "kernels:1",
      only: null,
      find: "mm",
      lanes: "3,p5",
      marks: "7",
      notes: "7~why",
      compare: "1",
      findings: "0",
      hide: "memcpy",
      area: "1..2@3",
      ranks: "3,9",
      colors: "module",
      sql: "select 1 && a=b",
      base: "b",
      baserank: 2,
      basespan: 3,
      basestep: 4,
      matching: "lr",
      picked: "r/1",
      section: "method",
    };
    module.go(changes);
    expect(module.state.value).toMatchObject({ ...changes, ...expected });
  });
});

describe("the keys of pages", () => {
  const declared = Object.entries(PAGE_KEYS).flatMap(([page, keys]) =>
    Object.entries<UrlKey>(keys).map(([name, key]) => ({ page, name, key })),
  );
  const values = (one: UrlKey): string | number | null => one.parse("7");
  /** Every key of every page, set. */
  const everything = () => Object.fromEntries(declared.map(({ name, key }) => [name, values(key)]));

  test("a change of page resets all but what pages declare to stay", () => {
    module.go({ view: "kernels", run: "r", rank: 1, span: 2, step: 3 });
    module.go(everything());
    module.go({ view: "operators" });
    const left = Object.entries(module.state.value)
      .filter(([, value]) => value !== null)
      .map(([name]) => name);
    expect(left.sort()).toEqual([
      "aside",
      "base",
      "baserank",
      "basespan",
      "basestep",
      "changes",
      "rank",
      "run",
      "span",
      "sql",
      "step",
      "view",
    ]);
  });
  test.each(declared)(
    "$name of $page depends on declared keys, and is read alike on all pages",
    ({ page, name, key }) => {
      const known = [
        "view",
        "run",
        "rank",
        "span",
        "step",
        ...Object.keys(PAGE_KEYS[page as keyof typeof PAGE_KEYS]),
      ];
      expect(key.resetBy.filter((by) => !known.includes(by))).toEqual([]);
      expect(
        new Set(declared.filter((other) => other.name === name).map((other) => typeof values(other.key)))
          .size,
      ).toBe(1);
    },
  );
});

test.each([
  [
    "#privateuse1&p.privateuse1.view=timeline&p.privateuse1.rank=1&p.privateuse1.span=3&p.privateuse1.step=12&p.privateuse1.range=-5..900&p.privateuse1.item=kernels%3A12&p.privateuse1.lanes=3%2Cp5&p.privateuse1.marks=7%2C9&p.privateuse1.area=1..2%403%2C7&p.privateuse1.ranks=3%2C17&p.privateuse1.colors=module&p.privateuse1.critical=1&p.privateuse1.find=mm",
    {
      view: "timeline",
      rank: 1,
      span: 3,
      step: 12,
      range: "-5..900",
      item: "kernels:12",
      lanes: "3,p5",
      marks: "7,9",
      area: "1..2@3,7",
      ranks: "3,17",
      colors: "module",
      critical: "1",
      find: "mm",
    },
  ],
  [
    "#privateuse1&p.privateuse1.view=memory&p.privateuse1.device=6%2F0&p.privateuse1.range=1..2&p.privateuse1.scale=fit&p.privateuse1.by=category&p.privateuse1.group=allocations&p.privateuse1.sort=-a&p.privateuse1.filter=b&p.privateuse1.columns=t%3Aa",
    {
      view: "memory",
      device: "6/0",
      range: "1..2",
      scale: "fit",
      by: "category",
      group: "allocations",
      sort: "-a",
      filter: "b",
      columns: "t:a",
    },
  ],
  [
    "#privateuse1&p.privateuse1.view=diff&p.privateuse1.base=b&p.privateuse1.baserank=2&p.privateuse1.basespan=3&p.privateuse1.basestep=4&p.privateuse1.aside=r&p.privateuse1.changes=copies%3D0&p.privateuse1.sql=select%201&p.privateuse1.event=ops%2F3",
    {
      view: "diff",
      base: "b",
      baserank: 2,
      basespan: 3,
      basestep: 4,
      aside: "r",
      changes: "copies=0",
      sql: "select 1",
      event: "ops/3",
    },
  ],
  [
    "#privateuse1&p.privateuse1.view=flame&p.privateuse1.zoom=a%3Bb&p.privateuse1.levels=modules&p.privateuse1.selected=x",
    { view: "flame", zoom: "a;b", levels: "modules", selected: "x" },
  ],
])("an address that was copied earlier means the same: %s", (hash, expected) => {
  const read = module.parse(hash);
  expect(Object.fromEntries(Object.entries(read).filter(([, value]) => value !== null))).toEqual(expected);
  const again = module.parse(module.serialize("", read));
  expect(again).toEqual(read);
});
