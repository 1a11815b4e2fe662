// English texts of the flame graphs.
import type { ComponentChildren } from "preact";
import type { Flame } from "../../../api/types";
import { count, plural } from "../../count";

/** What a box is, as results have it. */
const kinds = {
  module: "module",
  operator: "operator",
  annotation: "annotation",
  frame: "frame",
  none: "none",
  ignored: "ignored",
  kernel: "kernel",
  memcpy: "memcpy",
  memset: "memset",
  communication: "communication",
  unknown: "launcher unknown",
};

export const flame = {
  kinds,
  showAll: "Show all of it",
  tree: "Tree",
  topDown: { label: "Top-down", title: "From the outermost callers on, the most time first" },
  bottomUp: { label: "Bottom-up", title: "Own time first, and below it its callers" },
  sandwich: {
    label: "Sandwich",
    title: "One frame: what calls it above, what it calls below, at all places",
  },
  toSandwich: "callers and callees",
  callers: "Callers",
  callersNote: (n: number): string => (n > 0 ? "what calls it, at all places" : "none: it is outermost"),
  calleesNote: (total: string, calls: number) => `${total}, ${plural(calls, "call")}; what it calls`,
  callersLabel: (boxes: number) => `Callers, ${count(boxes)} boxes.`,
  ignore: (n: number): string => (n > 0 ? `Ignored: ${count(n)}` : "Ignore"),
  ignoreHelp: "Ignored frames: their time stays with the caller that is shown",
  libraries: "Libraries",
  librariesHelp: "Python frames of torch, of site-packages and of Python itself.",
  patterns: "Parts of names",
  patternsExample: "such as transformers/;vllm/*.forward",
  patternsHelp: "Separated by ; with * for any text. For packages that torch writes without site-packages.",
  ignoreNothing: "Ignore nothing",
  ignoreThis: (pattern: string) => `ignore ${pattern}`,
  /** What shares of the step are of. */
  window: (step: boolean, length: string): string => (step ? `the step’s ${length}` : `the steps’ ${length}`),
  sharesOf: (window: string) => `Per cent in the boxes: of ${window}.`,
  windowShare: (share: string, window: string) => `, ${share} of ${window}`,
  time: "Time",
  device: { label: "Device", title: "Of what was launched within" },
  noDevice: "This trace has no device times.",
  host: { label: "Host", title: "From call to return" },
  show: "Show",
  everything: "Everything",
  operators: { label: "Operators", title: "Without Python frames" },
  modules: "Modules",
  eachModule: "Each module",
  byClass: { label: "By class", title: "Modules of one class are one box" },
  find: "Find   ( / )",
  findHelp: "Find in the flame graph",
  found: (share: string) => `${share} of the time found`,
  stacks: "Stacks",
  stacksHelp: "Collapsed stacks in ns, for speedscope and flamegraph.pl",
  empty: (by: Flame["by"]): string =>
    by === "device"
      ? "Nothing here launched anything on the device."
      : "The trace holds no ranges of the host.",
  label: (by: Flame["by"], boxes: number) => `Flame graph by ${by} time, ${count(boxes)} boxes.`,
  crumbs: "Where the graph starts",
  all: "all",
  whole: (by: Flame["by"], total: string, places: number, tooSmall: number) =>
    `${total} of ${by} time in ${count(places)} places${tooSmall > 0 ? `, ${count(tooSmall)} of them too small to be seen: zoom in` : ""}.${by === "host" ? " Summed over all threads." : ""}`,
  /** Of a box: its time and its own, with their exact values; its share. */
  times: (total: ComponentChildren, share: string, self: ComponentChildren, calls: number) => (
    <>
      {total} ({share} of the graph), self {self}, {plural(calls, "call")}
    </>
  ),
  merged: (n: number, time: string) => `, ${count(n)} inside too small to be seen (${time})`,
  toOperator: "operator",
};
