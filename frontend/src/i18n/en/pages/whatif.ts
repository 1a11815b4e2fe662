// English texts of the what-if page.
import type { Gain } from "../../../api/types";
import { plural } from "../../count";

/** How much longer or shorter, and what that is about. */
const perStep = (does: string, times: readonly string[]): string => `${does}; ${times.join(", ")} per step`;

export const whatif = {
  whatIf: "What if",
  placeholder: "aten::mm=0.5 (half its time), kernel:NAME=0",
  add: "Add",
  clear: "Clear",
  kinds:
    "Kinds: operator, kernel, module, function, call (of the runtime), category (gemm, convolution, …), class (of the account), finding (the fix of an issue); communication, copies, data_loader, launches, synchronization, rank_waits; profiler and stacks (its own time, as estimated). The table below has what gains most.",
  gains: (share: string) => `gains ${share}`,
  remove: (line: string) => `Remove ${line}`,
  synchronization: { label: "No syncs", title: "As if the host never waited for the device" },
  launches: {
    label: "2× faster launches",
    title: "Calls of the runtime and the latency behind them, twice as fast",
  },
  dataLoader: { label: "No data-loading delay", title: "As if the next batch were always there" },
  communication: { label: "No communication", title: "As if other ranks were here" },
  gone: "removed",
  asItIs: "as it is",
  faster: (times: string) => `${times} times as fast`,
  slower: (times: string) => `${times} times as slow`,
  onHost: (time: string) => `${time} on the host`,
  onDevice: (time: string) => `${time} on the device`,
  perStep,
  steps: (steps: number) => `${plural(steps, "steady step")}, on average`,
  step: (step: number) => `step ${step}`,
  measured: "Steady step",
  unsteady: "Recorded step",
  nothingSteady: "no step is steady",
  measuredHelp:
    "The analyzed time of a steady step, on average, or of the selected one, as recorded. Start-up, compilation, captures and drained work are left out, as in advice. The average step of the overview is that of all complete steps.",
  predicted: "Predicted",
  withChanges: "with the changes",
  nothingChanged: "nothing is changed yet",
  predictedHelp:
    "The step less what the replay gains. The range is that of several replays, each with another assumption about what is not recorded.",
  gain: "Gain",
  ofOne: "of 1",
  gainNote: (time: string) => `${time} per step`,
  gainHelp:
    "Of the step without the profiler's own time, with the least and the greatest gain of several replays: waits that shrink or not, a full or an empty queue, the profiler's own time, the bounds of inferred times.",
  error: "Model error",
  replayed: (time: string) => `replayed: ${time}`,
  errorHelp:
    "By how much the unchanged step, replayed from durations and known dependencies alone, misses what was measured. The smaller, the more a prediction is worth.",
  path: "The critical path",
  pathNote: "what decides how long a step is; the parts sum to it",
  toTimeline: "show it on the timeline",
};

/** A change that is tried where it is offered. */
export const tryIt = {
  try: "Try it",
  without: "What if it were gone?",
  help: (change: string) => `Replay the step with ${change}`,
  replaying: "Replaying the step…",
  again: "Try again",
  unknown: "No step can be replayed.",
  step: (before: string, now: string) => `${before} → ${now},`,
  net: "without the profiler's own time",
  netHelp: (measured: string) => `Recorded with the profiler: ${measured}`,
  gain: (share: string) => `−${share}`,
  more: "what-if",
};

const kinds: Record<Gain["kind"], string> = {
  operator: "Operator",
  kernel: "Kernel",
  module: "Module",
  function: "Function",
  call: "Runtime call",
  category: "Category",
  class: "Class of time",
  finding: "Fix of an issue",
  communication: "Communication",
  copies: "Copies",
  data_loader: "Data loading",
  launches: "Launches",
  synchronization: "Waits for the device",
  rank_waits: "Waits for other ranks",
  profiler: "The profiler's own time",
  stacks: "The profiler's time for Python frames",
};

export const whatifTables = {
  kinds,
  table: "Table",
  gains: "Estimated speed-ups",
  path: "Critical path",
  pathHelp: "By operator, kernel and call",
  steps: "Steps",
  name: { noun: "name", nouns: "names" },
  step: { noun: "step", nouns: "steps" },
  row: { noun: "row", nouns: "rows" },
  ranking: "Replaying each of the operators and kernels on the critical path…",
  half: "Predict it 2× faster",
  free: "remove",
  freeHelp: "Predict the step without it",
  ofGains: {
    name: { title: "What" },
    kind: { title: "Kind", help: "2× and remove add the change above." },
    halfGainShare: {
      title: "2× faster",
      help: "What the step gains if it takes half its time; of waits, without them.",
    },
    freeGainShare: { title: "Removed", help: "What the step gains without it, and the range of that." },
    halfGain: { title: "2× faster, time" },
    freeGain: { title: "Removed, time" },
    freeGainLow: { title: "Removed, at least", help: "The least gain under all assumptions." },
    freeGainHigh: { title: "Removed, at most", help: "The greatest gain under all assumptions." },
    aliases: { title: "Also named", help: "Other names of the same thing: the same activities and gain." },
    onPath: {
      title: "On the path",
      help: "Its time on the critical path, with all that is inside: within a step no more can be gained.",
    },
  },
  ofPath: {
    name: { title: "Name" },
    timeClass: { title: "What" },
    share: { title: "Of the step" },
    path: { title: "Time", help: "On the critical path, per step." },
    pieces: { title: "Pieces", help: "Per step." },
  },
  ofSteps: {
    step: { title: "Step" },
    measured: { title: "Measured" },
    predicted: { title: "Predicted" },
    gain: { title: "Gain" },
    gainLow: { title: "At least", help: "The least gain under all assumptions." },
    gainHigh: { title: "At most", help: "The greatest gain under all assumptions." },
    replayed: { title: "Replayed", help: "Unchanged, from durations and known dependencies alone." },
  },
};
