// @vitest-environment happy-dom
// The counters in the inspector of a kernel, and in a selected interval.
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CallCounters } from "../../../src/pages/shared/inspector/call-counters";
import { AreaTabs } from "../../../src/pages/timeline/area-tabs";
import type { Lane } from "../../../src/pages/timeline/lanes";
import { PAGE_KEYS } from "../../../src/pages/url-keys";
import { follow } from "../../../src/state/url";

follow(PAGE_KEYS);

beforeEach(() => document.body.replaceChildren());
afterEach(() => act(() => render(null, document.body)));

test("each counter has its mean and its values", () => {
  const clock = { counter: 0, name: "Clock · MHz", mean: 1250.5, samples: 3, busy_mean: 1400 };
  act(() => render(<CallCounters counters={[clock]} />, document.body));
  const cells = [...document.querySelectorAll("[data-counter] td")].map((one) => one.textContent);
  expect(cells).toEqual(["Clock · MHz", "1,251", "1,400", "3"]);
});

test("a kernel without counters has no section", () => {
  act(() => render(<CallCounters counters={[]} />, document.body));
  expect(document.body.textContent).toBe("");
});

const lane = (...whats: string[]): Lane =>
  ({ base: { counters: whats.map((what) => ({ what })) } }) as unknown as Lane;

test.each([
  [lane("utilization", "recorded"), true],
  [lane("utilization", "memory"), false],
  [lane(), false],
])("counters are a tab only where the trace records any", (one, shown) => {
  act(() => render(<AreaTabs lane={one} />, document.body));
  const tabs = [...document.querySelectorAll("button")].map((button) => button.textContent);
  expect(tabs.includes("Counters")).toBe(shown);
  expect(tabs).toContain("Runtime calls");
});
