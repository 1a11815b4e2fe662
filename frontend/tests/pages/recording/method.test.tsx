// @vitest-environment happy-dom
// What limits the accuracy: each bound says what it is of, as sums of worst cases exceed that of a sum.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { Limit, Method as Result } from "../../../src/api/types";
import { Method } from "../../../src/pages/recording/method";
import { PAGE_KEYS } from "../../../src/pages/url-keys";
import { follow } from "../../../src/state/url";

follow(PAGE_KEYS);

const limit = (code: string, bound: number | null): Limit => ({
  code,
  title: code,
  message: "",
  kernels: 3,
  share: 0.5,
  bound_ns: bound,
  advice: null,
});

test("each bound says whether errors were added, and what is unknown says nothing", () => {
  const root = document.createElement("div");
  const result = {
    provenance: { timeline: "inferred" },
    kind: null,
    activities: null,
    evidence: [],
    limits: [limit("backlog", 76_300_000), limit("caught_up", 44_000), limit("one_stream", null)],
    advice: [],
    refused: [],
    constants: [],
    marks: null,
  } as unknown as Result;
  act(() => render(<Method result={result} />, root));
  const bounds = [...root.querySelectorAll("[data-testid=limits] tr td:last-child")];
  expect(bounds.map((one) => one.textContent)).toEqual([
    "± 76.3 mserrors of all starts added",
    "± 44.0 µsof their device time",
    "–",
  ]);
});
