// @vitest-environment happy-dom
// Serving as a reader sees it: a row of each phase, a bar and a row of each iteration, what is missing.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { Serving, ServingIteration, ServingPhase } from "../../../src/api/types";
import { Content } from "../../../src/pages/overview/serving-section";
import { PAGE_KEYS } from "../../../src/pages/url-keys";
import { follow } from "../../../src/state/url";

follow(PAGE_KEYS);

const phase = (kind: ServingPhase["kind"], iterations: number): ServingPhase => ({
  kind,
  iterations,
  requests: 4,
  tokens: 4 * iterations,
  time_ns: 1e6 * iterations,
  time_bound_ns: 0,
  median_ns: 1e6,
  median_bound_ns: 0,
  p95_ns: 1e6,
  p95_bound_ns: 0,
  token_rate: 4000,
  device_ns: 6e5 * iterations,
  device_bound_ns: 0,
  device_share: 0.6,
  exposed_ns: 4e5 * iterations,
  exposed_bound_ns: 0,
  exposed_share: 0.4,
  bytes_per_s: null,
  bytes_share: 0.1,
});

const iteration = (i: number, kind: ServingIteration["kind"]): ServingIteration => ({
  kind,
  found: "shape",
  name: "",
  op: i,
  start_ns: 1e6 * i,
  time_ns: 1e6,
  time_bound_ns: 0,
  ends: "next",
  requests: 4,
  tokens: 4,
  context: null,
  token_ns: 25e4,
  device_ns: 6e5,
  device_bound_ns: 0,
  exposed_ns: 4e5,
  exposed_bound_ns: 0,
  bytes: null,
  bytes_per_s: null,
  bytes_share: 0.1,
  reason: null,
});

const RESULT = {
  provenance: { timeline: "measured", warnings: [] },
  phases: [phase("prefill", 1), phase("decode", 2)],
  rows: [iteration(0, "prefill"), iteration(1, "decode"), iteration(2, "decode")],
  total_rows: 3,
  generations: [],
  repeated: 0,
  missing: [{ figure: "context", iterations: 3, reason: "No lengths." }],
} as unknown as Serving;

function shown(result: Serving): Element {
  const root = document.createElement("div");
  act(() => render(<Content result={result} end={3e6} isLate={false} />, root));
  return root;
}

test("phases, bars and reasons", () => {
  const root = shown(RESULT);
  const rows = [...root.querySelectorAll('[data-testid="serving-phases"] tbody tr')];
  expect(rows.map((row) => row.getAttribute("data-key"))).toEqual(["prefill", "decode"]);
  expect(rows[1]?.textContent).toContain("4,000 /s");
  expect(root.querySelector('[data-testid="serving-chart"]')?.getAttribute("data-bars")).toBe("3");
  expect(root.querySelector('[data-testid="table-serving"]')?.getAttribute("data-rows")).toBe("3");
  expect(root.querySelector('[data-testid="serving-missing"]')?.textContent).toBe(
    "Context, of 3 iterations: No lengths.",
  );
  expect(root.querySelector('[data-testid="serving-repeated"]')).toBeNull();
});

test("a single iteration has no chart, and a loop without a cache says so", () => {
  const root = shown({ ...RESULT, rows: RESULT.rows.slice(0, 1), repeated: 2 });
  expect(root.querySelector('[data-testid="serving-chart"]')).toBeNull();
  expect(root.querySelector('[data-testid="serving-repeated"]')?.textContent).toContain("no cache");
});
