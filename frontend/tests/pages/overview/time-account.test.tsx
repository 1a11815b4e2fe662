// @vitest-environment happy-dom
// The account of time as a reader sees it: classes, ranges, devices, and rows that open.
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, test } from "vitest";
import type { Account, ClassTime, Overview, LargestInterval } from "../../../src/api/types";
import { TimeAccount } from "../../../src/pages/overview/time-account";
import { PAGE_KEYS } from "../../../src/pages/url-keys";
import { follow, go } from "../../../src/state/url";

follow(PAGE_KEYS);

const interval = (more: Partial<LargestInterval> = {}): LargestInterval => ({
  start_ns: 100,
  duration_ns: 400,
  table: "ops",
  row: 7,
  name: "aten::item",
  place: "thread 1 (main)",
  where: {
    name: "step",
    file: "/home/me/train.py",
    line: 12,
    call_lines: [14, 17],
    call_known_from: "source",
    near_line: 14,
    inner: "Net.forward (net.py:3)",
    title: "step (/home/me/train.py:12)",
  },
  ...more,
});

function classTime(name: ClassTime["name"], group: ClassTime["group"], ns: number): ClassTime {
  return {
    name,
    group,
    label: `label of ${name}`,
    meaning: `meaning of ${name}`,
    ns,
    bound_ns: 0,
    share: ns / 1000,
    stretches: 3,
    parts: [],
    largest: [interval()],
  };
}

const account = (classes: ClassTime[], bound: number | null = 0): Account => ({
  window_ns: 1000,
  idle_ns: classes.filter((c) => c.group !== "device").reduce((sum, c) => sum + c.ns, 0),
  idle_bound_ns: bound,
  classes,
  missing: [],
});

const MEASURED = account([
  classTime("synchronization", "blocked", 500),
  { ...classTime("kernel", "device", 400), parts: [{ name: "gemm", ns: 300, share: 0.3 }] },
  { ...classTime("dispatch", "host", 100), parts: [{ name: "aten::add", ns: 60, share: 0.06 }] },
  classTime("profiler", "outside", 0),
]);

const steps = (...numbers: number[]) => numbers.map((n) => ({ name: `ProfilerStep#${n}` }));

const overview = (more: object = {}): Overview =>
  ({
    provenance: { timeline: "measured", warnings: [] },
    duration_ns: 2000,
    utilization: 0.4,
    steps: steps(1, 2, 3),
    step_counts: { numbered: 3, complete: 3, incomplete: 0, primed: 0 },
    account: MEASURED,
    device_accounts: [],
    account_steps: [],
    ...more,
  }) as unknown as Overview;

const INFERRED = account([{ ...classTime("python", "host", 100), bound_ns: 150 }], 150);

function show(page: preact.ComponentChildren): HTMLElement {
  document.body.innerHTML = "<main></main>";
  const main = document.querySelector("main") as HTMLElement;
  act(() => render(page, main));
  return main;
}

const get = (testid: string): HTMLElement => {
  const found = document.querySelector<HTMLElement>(`[data-testid="${testid}"]`);
  if (!found) throw new Error(`no ${testid}`);
  return found;
};
const keys = (within: string): (string | null)[] =>
  [...get(within).querySelectorAll("[data-key]")].map((e) => e.getAttribute("data-key"));
const turn = (name: string): Promise<void> => act(() => get(`account-open-${name}`).click());

afterEach(() => act(() => go({ device: null, step: null })));

describe("the account", () => {
  test("has the classes with time, the device's first, in the bar and in the table", () => {
    show(<TimeAccount now={overview()} step={null} />);
    expect(keys("account-bar")).toEqual(["kernel", "synchronization", "dispatch"]);
    expect(keys("account-classes")).toEqual(["kernel", "synchronization", "dispatch"]);
    expect(get("account-bar").getAttribute("aria-label")).toBe(
      "Shares of the window: label of kernel 40.0 %, label of synchronization 50.0 %, label of dispatch 10.0 %",
    );
    const groups = [...document.querySelectorAll("tr.group th")].map((e) => e.textContent);
    expect(groups).toEqual(["On the device", "Host blocked", "Host working"]);
  });
  test("says of which window it is, and how much of it is idle", () => {
    show(<TimeAccount now={overview()} step={null} />);
    expect(get("account-window").textContent).toBe("of 3 steps, 1.00 µs: idle 600 ns, 60.0 %");
    show(<TimeAccount now={overview()} step={7} />);
    expect(get("account-window").textContent).toMatch(/^of step 7, /);
    show(<TimeAccount now={overview({ steps: [], step_counts: { numbered: 0 } })} step={null} />);
    expect(get("account-window").textContent).toMatch(/^of the recording, /);
  });
  test("of the host alone has no idle time", () => {
    show(<TimeAccount now={overview({ utilization: null })} step={null} />);
    expect(get("account-window").textContent).toBe("of 3 steps, 1.00 µs");
  });
  test("is not there without device times", () => {
    expect(show(<TimeAccount now={overview({ account: null })} step={null} />).textContent).toBe("");
  });
  test("says what the recording lacks", () => {
    const lacking = { ...MEASURED, missing: ["Record with stacks.", "Record more steps."] };
    show(<TimeAccount now={overview({ account: lacking })} step={null} />);
    const lines = [...get("account-missing").querySelectorAll("li")].map((e) => e.textContent);
    expect(lines).toEqual(["Record with stacks.", "Record more steps."]);
  });
  test("leads to the longest interval", () => {
    show(<TimeAccount now={overview()} step={null} />);
    const link = decodeURIComponent(get("account-to-kernel").getAttribute("href") ?? "");
    expect(link).toContain("view=timeline");
    const [, first, last] = /range=(\d+)\.\.(\d+)/.exec(link) ?? [];
    expect(Number(first)).toBeLessThanOrEqual(100);
    expect(Number(last)).toBeGreaterThanOrEqual(500);
  });
});

describe("a row", () => {
  test("opens to names and longest intervals, and closes", () => {
    show(<TimeAccount now={overview()} step={null} />);
    const button = get("account-open-dispatch");
    expect([button.tagName, button.getAttribute("aria-expanded")]).toEqual(["BUTTON", "false"]);
    void turn("dispatch");
    expect(button.getAttribute("aria-expanded")).toBe("true");
    const details = get("account-details-dispatch");
    const opened = details.closest("tr");
    expect(opened?.id).toBe(button.getAttribute("aria-controls"));
    expect(details.querySelector("[data-part]")?.textContent).toBe("aten::add60 ns6.00 %");
    expect(details.querySelector("[data-start]")?.textContent).toBe(
      "aten::itemthread 1 (main)step (train.py:12) calls it at line 14 or 17 → Net.forward (net.py:3)400 nsshow on timeline",
    );
    void turn("dispatch");
    expect(button.getAttribute("aria-expanded")).toBe("false");
    expect(document.querySelector('[data-testid="account-details-dispatch"]')).toBeNull();
  });
  test.each([
    ["dispatch", "view=operators", 'filter=name = "aten::add"'],
    ["kernel", "view=operators", 'filter=category = "gemm"'],
  ])("%s has names that link to their page", (name, page, filter) => {
    show(<TimeAccount now={overview()} step={null} />);
    void turn(name);
    const link = get(`account-details-${name}`).querySelector("[data-part] a")?.getAttribute("href") ?? "";
    expect(decodeURIComponent(link)).toContain(page);
    expect(decodeURIComponent(link)).toContain(filter);
  });
  test("without a responsible event says so", () => {
    const lone = {
      ...classTime("unattributed", "outside", 10),
      largest: [interval({ table: null, row: null })],
    };
    show(<TimeAccount now={overview({ account: account([lone]) })} step={null} />);
    void turn("unattributed");
    expect(get("account-details-unattributed").textContent).toContain("no event");
  });
});

describe("what is inferred", () => {
  const now = overview({ account: INFERRED, provenance: { timeline: "inferred", warnings: [] } });
  test("has a range within the window, is hatched, and in italics", () => {
    show(<TimeAccount now={now} step={null} />);
    const row = get("account-classes").querySelector('[data-key="python"]');
    expect(row?.textContent).toContain("10.0 %at most 25.0 %");
    expect(row?.querySelector(".swatch")?.className).toBe("swatch inferred");
    expect(row?.querySelectorAll(".uncertain")).toHaveLength(2);
    expect(get("account-bar").querySelector('[data-key="python"]')?.className).toBe("part inferred");
    expect(get("account-window").textContent).toMatch(/idle 100 ns, 10.0 % \(at most 25.0 %\)$/);
  });
  test("has no range where none is known", () => {
    const unknown = account([{ ...classTime("python", "host", 100), bound_ns: null }], null);
    show(<TimeAccount now={overview({ account: unknown })} step={null} />);
    expect(get("account-classes").querySelector('[data-key="python"]')?.textContent).toContain(
      "range unknown",
    );
  });
  test("measured time has no column of ranges", () => {
    show(<TimeAccount now={overview()} step={null} />);
    expect(get("account-classes").textContent).not.toContain("Range");
  });
});

test("each of several devices has its own account, and the URL says which is shown", () => {
  const devices = [
    { device: 0, account: account([classTime("kernel", "device", 1000)]) },
    { device: 3, account: account([classTime("python", "host", 1000)]) },
  ];
  show(<TimeAccount now={overview({ device_accounts: devices })} step={null} />);
  const choices = [...document.querySelectorAll(".segmented button")];
  expect(choices.map((b) => b.textContent)).toEqual(["All", "Device 0", "Device 3"]);
  expect(keys("account-bar")).toHaveLength(3);
  act(() => get("group-3").click());
  expect(location.hash).toContain("p.privateuse1.device=3");
  show(<TimeAccount now={overview({ device_accounts: devices })} step={null} />);
  expect(keys("account-bar")).toEqual(["python"]);
  expect(get("account-window").textContent).toMatch(/^on device 3, of 3 steps, 1.00 µs: idle 1.00 µs, 100 %/);
  act(() => get("group-all").click());
  expect(location.hash).not.toContain("device");
});
