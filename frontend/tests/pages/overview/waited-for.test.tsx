// @vitest-environment happy-dom
// Who keeps the others waiting, on the first page: the words and figures of the page *Ranks*.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { Culprit, Distributed } from "../../../src/api/types";
import { culprits as texts } from "../../../src/i18n/culprits";
import { Culprits } from "../../../src/pages/distributed/culprits";
import { Found } from "../../../src/pages/overview/waited-for-line";
import { PAGE_KEYS } from "../../../src/pages/url-keys";
import { follow } from "../../../src/state/url";

follow(PAGE_KEYS);

const culprit = (ranks: number[], cost: number | null, kind: Culprit["kind"] = "rank"): Culprit => ({
  kind,
  ranks,
  host: null,
  group: null,
  cause: "computation",
  idle_class: null,
  kernel: null,
  kernel_ns: null,
  excess_ns: 8_000_000,
  excess_bound_ns: 1_000_000,
  cause_ns: 7_000_000,
  cost_ns: cost,
  steps: 5,
  of_steps: 6,
  p_value: 0.00042,
  victims: [0],
});

const result = (culprits: readonly Culprit[], met = true): Distributed =>
  ({
    culprits,
    least_cost_ns: met ? 18_000 : null,
    rows: [0, 1].map((rank) => ({ rank, steps: 6, synchronizing_ns: met ? 0 : null, idle_classes: [] })),
  }) as unknown as Distributed;

function shown(node: preact.ComponentChild): HTMLElement {
  const root = document.createElement("div");
  act(() => render(node, root));
  return root;
}

test("names the rank, the time lost as Ranks has it, and links there", () => {
  const found = result([culprit([4], 6_000_000)]);
  const line = shown(<Found result={found} />);
  expect(line.textContent).toBe(
    "Who keeps the others waiting: Rank 4 (slow): the others wait 6.00 ms a step. Ranks",
  );
  const page = shown(<Culprits result={found} />);
  expect(page.querySelector(".cost")?.textContent).toBe("the others wait 6.00 ms a step");
  expect(line.querySelector("a")?.getAttribute("href")).toContain("view=distributed");
});

test("names the costliest three, and says how many are left", () => {
  const line = shown(<Found result={result([5, 4, 3, 2, 1].map((n) => culprit([n], n * 1e6)))} />);
  expect(line.querySelectorAll("[data-testid=waited-for-one]")).toHaveLength(3);
  expect(line.textContent).toContain("and 2 more causes");
});

test("a cost that is not known stays unknown", () => {
  const line = shown(<Found result={result([culprit([4], null, "missing")])} />);
  expect(line.textContent).toContain(texts.noCost);
});

test("nothing found has the words of Ranks, and nothing known says so", () => {
  expect(shown(<Found result={result([])} />).textContent).toContain(texts.none("18.0 µs"));
  expect(shown(<Found result={result([], false)} />).textContent).toContain(texts.notShown);
});
