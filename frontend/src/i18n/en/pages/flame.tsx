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
  kernel: "kernel",
  memcpy: "memcpy",
  memset: "memset",
  communication: "communication",
  unknown: "launcher unknown",
};

export const flame = {
  kinds,
  showAll: "Show all of it",
  time: "Time",
  device: { label: "Device time", title: "Of what was launched within" },
  noDevice: "This trace has no device times.",
  host: { label: "Host time", title: "From call to return" },
  show: "Show",
  everything: "Everything",
  everythingHelp: (frames: boolean): string =>
    frames
      ? "Python frames, modules, operators"
      : "The trace was recorded without Python frames (with_stack=True).",
  operators: { label: "Operators", title: "Without Python frames" },
  modules: "Modules",
  modulesHelp: (modules: boolean): string =>
    modules ? "Modules only" : "No modules were recorded: annotations only",
  eachModule: "Each module",
  byClass: { label: "By class", title: "Modules of one class are one box" },
  find: "Find   ( / )",
  findHelp: "Find in the flame graph",
  found: (share: string) => `${share} found`,
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
      {total} ({share}), self {self}, {plural(calls, "call")}
    </>
  ),
  merged: (n: number, time: string) => `, ${count(n)} inside too small to be seen (${time})`,
  toOperator: "operator",
};
