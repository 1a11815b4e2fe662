// A list of two runs, as the server gives it.

import type { Runs, Worker } from "../../src/api/types";

export const span = (n: number, modified_ns = 5) => ({
  span: n,
  label: String(n),
  bytes: 10,
  modified_ns,
  has_sidecar: false,
});

export const worker = (rank: number, ...spans: number[]): Worker => ({
  worker: `w${rank}`,
  rank,
  rank_source: "name",
  spans: spans.map((n) => span(n)),
});

export const RUNS: Runs = {
  logdir: "/log",
  scanning: false,
  warnings: [],
  runs: [
    { run: "a", workers: [worker(3, 1), worker(1, 1, 10, 2)], warnings: [] },
    { run: "b", workers: [worker(0, 1)], warnings: [] },
  ],
};
