import type { Counter } from "../../api/types";

/** What the values of a counter are, by what it counts. */
const counters: Record<Counter["what"], string> = {
  utilisation: "The share of time in which anything runs on the device.",
  waiting: "Launched and not started yet: the greatest number in each part.",
  rate: "Kernels, copies and fills that start per ms.",
  sm_efficiency: "The share of multiprocessors that hold blocks, as CUPTI estimates the blocks of each kernel.",
  data_loader: "The share of time in which any thread is in the data loader.",
  copies: "Bytes by the time in which such copies run.",
  communication: "Bytes of collectives by the time in which they run, waiting for other ranks included.",
  memory: "The greatest allocated total in each part.",
};

export const timelineheads = {
  counters,
  only: "Filter tracks",
  onlyHelp: "Words of a thread's, stream's or counter's name, or of its process or device; pinned tracks stay. Esc clears it.",
  onlyNone: "No track has these words.",
  top: "The top of the scale",
  /** A counter's label, without what stands below it. */
  short: (label: string) => label.replace(/ \(inferred\)$/, ""),
  inferred: ", inferred",
  allCounters: "all counters",
  removeRank: (rank: string) => `Remove rank ${rank}`,
  removeRankHelp: "Remove this rank",
  fold: (what: string) => `Fold ${what}`,
  unfold: (what: string) => `Unfold ${what}`,
  moveUp: "Move up",
  moveUpOf: (what: string) => `Move ${what} up`,
  pin: "Pin to the top",
  pinOf: (what: string) => `Pin ${what} to the top`,
  selectedOn: (what: string) => `Selected on ${what}`,
  selectedOnHelp: "The selection is on this track",
  note: (ranges: string, rows: number, time: string) => `${ranges} ranges in ${rows} rows, the outermost ${time} in all`,
  hidden: (note: string, hidden: string) => `${note}; ${hidden} lie too deep to be drawn`,
};
