// @vitest-environment happy-dom
// Who keeps the others waiting, as a reader sees it: a culprit of each cause, and none.
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";
import type { Culprit, Distributed } from "../../../src/api/types";
import { culprits as texts } from "../../../src/i18n/culprits";
import { Culprits } from "../../../src/pages/distributed/culprits";
import { PAGE_KEYS } from "../../../src/pages/url-keys";
import { follow, go } from "../../../src/state/url";

follow(PAGE_KEYS);
beforeEach(() => act(() => go({ step: null })));

const culprit = (more: Partial<Culprit> = {}): Culprit => ({
  kind: "rank",
  ranks: [5],
  host: null,
  group: null,
  cause: "computation",
  idle_class: null,
  kernel: null,
  kernel_ns: null,
  excess_ns: 8_000_000,
  excess_bound_ns: 1_000_000,
  cause_ns: 7_000_000,
  cost_ns: 6_000_000,
  steps: 5,
  of_steps: 6,
  p_value: 0.00042,
  victims: [0, 1, 2, 3, 4, 6],
  ...more,
});

const row = (rank: number, steps = 6) => ({
  rank,
  steps,
  synchronizing_ns: 0,
  idle_classes: [{ name: "dispatch", label: "Launch gaps" }],
});

const result = (culprits: Culprit[], more: object = {}): Distributed =>
  ({ culprits, rows: [row(0), row(1)], least_cost_ns: 2_000_000, ...more }) as unknown as Distributed;

function show(all: Distributed): string {
  document.body.innerHTML = "<main></main>";
  act(() => render(<Culprits result={all} />, document.querySelector("main") as HTMLElement));
  return document.body.textContent ?? "";
}

const fact = (key: string): string => document.querySelector(`[data-key=${key}]`)?.textContent ?? "";

const CASES: [string, Partial<Culprit>, string[]][] = [
  [
    "computation",
    { kernel: "attention", kernel_ns: 5_000_000 },
    ["Computation takes longer by 7.00 ms a step.", "5.00 ms of it in attention."],
  ],
  [
    "throttled",
    { kind: "throttled" },
    ["Computation takes longer by 7.00 ms a step.", texts.meanings.throttled],
  ],
  ["copy", { cause: "copy" }, ["Copies take longer by 7.00 ms a step.", texts.meanings.copy]],
  [
    "host",
    { cause: "host", idle_class: "dispatch" },
    ["launches late by 7.00 ms", "Most of it: Launch gaps."],
  ],
  ["input", { kind: "input", cause: "input" }, ["data loader by 7.00 ms a step.", texts.meanings.input]],
  ["transfer", { kind: "link", cause: "transfer", group: "tp0" }, ["sibling groups by 7.00 ms a step."]],
  ["unknown", { cause: "unknown", cause_ns: null }, ["The recording does not show what takes longer."]],
];

test.each(CASES)("the cause %s has its time and what to do", (_, more, words) => {
  show(result([culprit(more)]));
  for (const word of words) expect(fact("cause")).toContain(word);
  expect(fact("cause")).toContain(
    texts.meanings[more.kind === "throttled" ? "throttled" : (more.cause ?? "computation")],
  );
});

test("who, what it costs, who waits, and the evidence", () => {
  const text = show(result([culprit()]));
  expect(text).toContain("Rank 5 slow the others wait 6.00 ms a step");
  expect(document.querySelector("[data-testid=victims]")?.textContent).toBe("Ranks 0–4, 6");
  expect(fact("evidence")).toContain(
    "Own work takes 8.00 ms ± 1.00 ms (99 %) a step longer than the median of the peers, in 5 of 6 steps. By chance in fewer than 1 of 1,000 jobs.",
  );
  const links = [...document.querySelectorAll("[data-key=pages] a")].map((a) => a.getAttribute("href") ?? "");
  expect(links).toHaveLength(4);
  for (const link of links.slice(0, 2)) expect(link).toContain("rank=5");
  for (const link of links.slice(2)) expect(link).toContain("rank=0"); // to compare
});

test("a bound as large as the difference is explained, a tiny probability is not spelt out", () => {
  show(result([culprit({ excess_bound_ns: 18_000_000, of_steps: 3, steps: 3, p_value: 1e-40 })]));
  expect(fact("evidence")).toContain("With 3 steps the size of the difference is uncertain.");
  expect(fact("evidence")).toContain("fewer than 1 of 1,000,000 jobs");
});

test("a node is named by its host, with links to its first ranks", () => {
  const text = show(result([culprit({ kind: "node", host: "n1", ranks: [8, 9, 10, 11, 12, 13, 14, 15] })]));
  expect(text).toContain("Host n1, ranks 8–15 slow node");
  expect(document.querySelectorAll("[data-key=pages] li")).toHaveLength(3 + 1);
});

test("missed collectives have no times, and a link has no victims of its own", () => {
  const timeless = { excess_ns: null, excess_bound_ns: null, cause_ns: null, cost_ns: null };
  const missing = culprit({ kind: "missing", cause: "unknown", group: "dp", ...timeless });
  const text = show(
    result([missing, culprit({ kind: "link", cause: "transfer", group: "tp0", ranks: [0, 1] })]),
  );
  expect(text).toContain("Rank 5 misses collectives waiting time not known");
  expect(text).toContain("Fewer calls than most members of the group, in 5 of 6 steps.");
  expect(text).not.toContain("does not show what takes longer");
  expect(text).toContain("Group tp0, ranks 0, 1 slow link");
  expect(document.querySelectorAll("[data-testid=victims]")).toHaveLength(1);
});

test("nothing found says how small an effect is not listed", () => {
  expect(show(result([]))).toContain("Waits below 2.00 ms a step are not listed");
  expect(show(result([], { rows: [row(0, 2), row(1, 2)] }))).toContain("record 3 complete steps");
  expect(show(result([], { rows: [row(0)] }))).toBe("");
  expect(show(result([], { least_cost_ns: null }))).toBe("");
});
