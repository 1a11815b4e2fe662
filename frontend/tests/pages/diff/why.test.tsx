// @vitest-environment happy-dom
// Why the step changed: each column has a head, and a share of the change is no change itself.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { Explanation } from "../../../src/api/types";
import { Why } from "../../../src/pages/diff/why";
import { PAGE_KEYS } from "../../../src/pages/url-keys";
import type { Selected } from "../../../src/state/selection";
import { follow } from "../../../src/state/url";

follow(PAGE_KEYS);

const reason = (change_ns: number, change_share: number) => ({
  kind: "kernels",
  time_class: "kernel",
  sentence: `by ${change_ns}`,
  change_ns,
  change_share,
  noise_ns: null,
  verdict: "sure",
  operator: "aten::mm",
  event: null,
  base_ns: 2,
  now_ns: 1,
});

test("the share of what made the step shorter has no sign of its own", () => {
  const why = {
    change_ns: -100,
    rest_ns: 0,
    rest_groups: 0,
    rest_noise_ns: null,
    reasons: [reason(-112, 1.12), reason(12, -0.12)],
  } as unknown as Explanation;
  const root = document.createElement("div");
  act(() => render(<Why why={why} other={{} as Selected} />, root));
  expect([...root.querySelectorAll("th")].map((head) => head.textContent)).toEqual([
    "Change",
    "Reason",
    "Of the change",
  ]);
  const shares = [...root.querySelectorAll('[data-testid="reason"] td:last-child')];
  expect(shares.map((share) => share.textContent)).toEqual(["112 %", "−12.0 %"]);
});
