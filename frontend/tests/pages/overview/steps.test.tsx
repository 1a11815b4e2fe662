// @vitest-environment happy-dom
// The steps as a reader sees them: a bar and a row of each, of classes of time where these are known.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { Overview } from "../../../src/api/types";
import { Steps } from "../../../src/pages/overview/steps";
import { PAGE_KEYS } from "../../../src/pages/url-keys";
import { follow } from "../../../src/state/url";

follow(PAGE_KEYS);

const PARTS = [
  "kernel",
  "memcpy",
  "memset",
  "communication",
  "unknown",
  "runtime",
  "dataloader",
  "cpu",
  "other",
];

const step = (number: number, kernel: number, cpu: number) => ({
  name: `ProfilerStep#${number}`,
  start_ns: 0,
  duration_ns: kernel + cpu,
  duration_bound_ns: 0,
  incomplete: false,
  primed: false,
  ...Object.fromEntries(
    PARTS.flatMap((p) => [
      [`${p}_ns`, 0],
      [`${p}_bound_ns`, 0],
    ]),
  ),
  kernel_ns: kernel,
  cpu_ns: cpu,
});

const classes = (number: number, kernel: number, host: number) => ({
  name: `ProfilerStep#${number}`,
  idle_ns: host,
  idle_bound_ns: 0,
  classes: [
    { name: "kernel", ns: kernel },
    { name: "dispatch", ns: host },
  ],
});

const time = (name: string, ns: number) => ({
  name,
  ns,
  label: `label of ${name}`,
  meaning: "",
  bound_ns: 0,
});

const overview = (more: object = {}): Overview =>
  ({
    provenance: { timeline: "measured", warnings: [] },
    steps: [step(1, 400, 100), step(2, 500, 3)],
    steps_total: 2,
    steps_offset: 0,
    average_step_ns: 500,
    averages: [],
    account: null,
    account_steps: [],
    ...more,
  }) as unknown as Overview;

const ACCOUNT = {
  account: { classes: [time("kernel", 900), time("dispatch", 103)] },
  account_steps: [classes(1, 400, 100), classes(2, 500, 3)],
};

const pages: number[] = [];

function show(all: Overview): string {
  document.body.innerHTML = "<main></main>";
  act(() =>
    render(
      <Steps all={all} onPage={(to) => pages.push(to)} />,
      document.querySelector("main") as HTMLElement,
    ),
  );
  return document.body.textContent ?? "";
}

const texts = (selector: string): (string | null)[] =>
  [...document.querySelectorAll(selector)].map((e) => e.textContent);

test("bars and columns are classes of time", () => {
  show(overview(ACCOUNT));
  expect(document.querySelector('[data-testid="step-chart"]')?.getAttribute("data-bars")).toBe("2");
  const parts = [...document.querySelectorAll("[data-part]")].map((e) => e.getAttribute("data-part"));
  expect(parts).toEqual(["kernel", "dispatch"]);
  expect(texts('[data-testid="legend"] li')).toEqual(["label of kernel", "label of dispatch", "average"]);
  expect(texts("th").slice(-2)).toEqual(["label of kernel", "label of dispatch"]);
});

test("without an account they are categories", () => {
  show(overview());
  expect(texts("th").slice(-2)).toEqual(["Kernel", "CPU"]);
});

test("a class that is small in every step has no column", () => {
  const small = { ...ACCOUNT, account_steps: [classes(1, 400, 1), classes(2, 500, 3)] };
  show(overview(small));
  expect(texts("th").at(-1)).toBe("label of kernel");
});

test("one step compares nothing", () => {
  expect(show(overview({ steps: [step(1, 400, 100)] }))).toBe("");
});

test("of many steps some are listed, and the others are a click away", () => {
  const said = show(overview({ steps_total: 1200, steps_offset: 500 }));
  expect(said).toContain("Steps 501 to 502 of 1,200 are listed.");
  const click = (name: string) => document.querySelector<HTMLElement>(`[data-testid="${name}"]`)?.click();
  click("steps-before");
  click("steps-after");
  expect(pages).toEqual([0, 502]);
  show(overview());
  expect(document.querySelector('[data-testid="step-pages"]')).toBeNull();
});
