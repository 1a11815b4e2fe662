// @vitest-environment happy-dom
import { expect, test } from "vitest";
import type { Progress } from "../../../src/api/types";
import { shareDone } from "../../../src/pages/shared/load-states";

const progress = (some: Partial<Progress>): Progress => ({
  phase: "reading",
  bytes_done: 0,
  bytes_total: 0,
  events: 0,
  seconds_left: null,
  traces: 1,
  traces_done: 0,
  parts: 0,
  parts_done: 0,
  note: null,
  ...some,
});

test.each<[number | null, Partial<Progress>]>([
  [null, {}],
  [0.5, { bytes_done: 5, bytes_total: 10 }],
  [null, { bytes_done: 10, bytes_total: 10, phase: "inferring" }],
  [0.25, { traces: 4, traces_done: 1, phase: "computing" }],
  [0.625, { traces: 4, traces_done: 1, bytes_done: 5, bytes_total: 10 }],
  [null, { traces: 4, traces_done: 4 }],
  [0.1, { parts: 30, parts_done: 3, phase: "computing" }],
])("a bar is never full while the server works: %s of %o", (share, some) => {
  expect(shareDone(progress(some))).toBe(share);
});
