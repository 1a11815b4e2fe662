// English texts of the comparison of two runs.
import type { ComponentChildren } from "preact";
import type { Condition, Diff, DiffAllocator, DiffFigure, DiffMemory, DiffRow } from "../../../api/types";
import { plural } from "../../count";

const verdicts: Record<DiffRow["verdict"], string> = {
  longer: "longer",
  shorter: "shorter",
  within_noise: "within noise",
  within_bound: "within bounds",
  same: "no change",
  unknown: "not certain",
};

const statuses: Record<DiffRow["status"] | DiffAllocator["status"], string> = {
  both: "",
  new: "new",
  gone: "removed",
};

export const diff = {
  verdicts,
  statuses,
  noDefault: "Choose a base.",
  refused: (run: string, why: string) => `The nearest run is ${run}. ${why}`,
  otherDevice: (base: string, now: string) => `Its device is ${base}, this one's is ${now}.`,
  anyway: (run: string) => `Compare with ${run} anyway`,
  nothing: "There is nothing to compare with",
  oneTrace: (choose: (text: string) => ComponentChildren) => (
    <>
      This logdir has one trace only. Put another run's directory into it, or compare two steps:{" "}
      {choose("choose them")}.
    </>
  ),
  commandLine: (command: ComponentChildren) => <>On the command line the two may be anywhere: {command}.</>,
  comparedWith: "compared with",
  ranksDiffer: (now: number, base: number) =>
    `The ranks differ: rank ${now} is compared with rank ${base}. Ranks of one job may do different work.`,
  run: "Run",
  rank: "Rank",
  span: "Span",
  step: "Step",
  all: "all",
  swap: "Swap",
  onTimeline: "Both on the timeline",
  onTimelineHelp: "The base above, the selected recording below, aligned at the start of a step",
  swapHelp: "Exchange base and new run",
  baseReason: (
    kind: "span" | "earlier" | "later" | "rank",
    same: { group: boolean; rank: boolean; worker: boolean },
  ) => {
    if (kind === "span") return "by default: the span before";
    if (kind === "rank") return "by default: another rank, as there is no other run";
    const kept = [same.rank && "same rank", same.group && "same folder", same.worker && "same worker"];
    const shown = kept.filter(Boolean).join(", ");
    const run = kind === "earlier" ? "the run before by date" : "the next run by date, as none is earlier";
    return `by default: ${run}${shown && ` (${shown})`}`;
  },
  account: "Change of the account of time",
  parts: "Breakdown of the change",
  partsNote: "on average; they sum to it",
  largest: "The largest changes",
  largestNote: (by: Diff["by"], time: Diff["time"]) => `of ${by}, by ${time} time per step`,
  none: (rows: number) => `None: ${rows ? "both take the same" : "there is nothing to compare"}.`,
  steps: (n: number) => (n === 1 ? "1 step" : `${plural(n, "step")}, on average`),
  base: { label: "Base step", help: "The mean of the base's complete steps." },
  now: { label: "Step", help: "The mean of the complete steps of what is compared." },
  change: { label: "Change", help: "The difference of the two." },
  total: {
    label: (time: Diff["time"]) => `Change of ${time} time`,
    help: (base: string, now: string) => `From ${base} to ${now} per step: all rows of the table`,
  },
  bySpread: (error: string, test: DiffFigure["test"] = null) =>
    `± ${error} by the spread of ${test === "paired" ? "the differences between n-th steps" : "steps"}`,
  byBounds: (error: string) => `± ${error} by error bounds`,
  /** What was said of a change, one after the other. */
  said: (parts: readonly string[]) => parts.join(", "),
  fromTo: (what: string, base: string, now: string, said: string) =>
    `${what}: from ${base} to ${now}, ${said}`,
};

const conditions: Record<Condition["name"], string> = {
  rank: "rank",
  world_size: "number of ranks",
  host: "host",
  device: "device",
  vendor: "vendor",
  torch: "torch",
  workload: "workload",
  batch: "batch",
  timeline: "device times",
  stacks: "with_stack",
  shapes: "record_shapes",
  memory: "profile_memory",
  steps: "compared steps",
};

/** Why the step changed, and what else differs. */
export const diffWhy = {
  title: "Why the step changed",
  note: "per step; with the rest they sum to the change",
  unsure: "(no spread over steps is known)",
  rest: (parts: number, noise: string | null) =>
    `The rest: ${plural(parts, "part")} with small changes, or within the noise${noise === null ? "" : ` (± ${noise})`}.`,
  sum: "Change of the step",
  head: { change: "Change", reason: "Reason", share: "Of the change" },
  shareHelp: "Its share of the change of the step.",
  row: "Compare",
  eventInBase: "Show in the base",
  eventInNew: "Show in the new run",
  accountOfBase: "Account of the base",
  accountOfNew: "Account of the new run",
  conditions,
  condition: (name: string, base: string, now: string) => `${name} ${base} → ${now}`,
  differ: (all: readonly string[]) => `The recordings differ: ${all.join("; ")}.`,
  parameter: {
    title: "Different parameters",
    note: "hyperparameters, metadata and environment of the runs",
    name: "Parameter",
    base: "Base",
    now: "New",
    more: (left: number) => `${left} more are in the CSV.`,
  },
  /** Values that the server writes as codes. */
  values: {
    on: "on",
    off: "off",
    measured: "measured",
    inferred: "inferred",
    none: "none",
    training: "training",
    inference: "inference",
    serving: "serving",
  },
};

const memoryVerdicts: Record<DiffMemory["verdict"], string> = {
  more: "more",
  less: "less",
  within_noise: "within noise",
  same: "no change",
  unknown: "not certain",
};

const figures: Record<DiffMemory["name"], { title: string; help: string }> = {
  peak: { title: "Peak", help: "The most that is allocated during a step, on average." },
  peak_reserved: {
    title: "Peak reserved",
    help: "The most that the allocator holds during a step, on average.",
  },
  at_end: { title: "At its end", help: "What is allocated when a step ends, on average." },
  growth: {
    title: "Growth per step",
    help: "What is allocated at the end of a step, less that of the step before, on average.",
  },
  allocated: { title: "Allocated per step", help: "The sum of a step's allocations, on average." },
  allocations: { title: "Allocations per step", help: "How many there are, on average." },
  recording_peak: {
    title: "Peak of the recording",
    help: "The most that is allocated at any time: one value each, so no spread is known.",
  },
};

/** Memory of what is compared. */
export const diffMemory = {
  verdicts: memoryVerdicts,
  figures,
  peakOf: (device: string) => `Peak of ${device}`,
  peakHelp: "The change of the most that is allocated during a step, on average.",
  onlyBase: "only the base has it",
  onlyNow: "only the new run has it",
  peakNote: (base: string, now: string, verdict: string) => `${base} → ${now}, ${verdict}`,
  none: (option: ComponentChildren) => <>Neither trace has memory events: record with {option}.</>,
  figureNoun: { noun: "figure", nouns: "figures" },
  operatorNoun: { noun: "operator", nouns: "operators" },
  figure: "Figure",
  device: "Device",
  base: { title: "Base", help: "Of the base, per step." },
  now: { title: "New", help: "The same in the new run." },
  change: { title: "Change", help: "New less base." },
  relative: { title: "Relative", help: "The change as a share of the base." },
  certainty: { title: "Significance", help: "Whether the change is more than the spread of steps (99 %)." },
  noise: { title: "± Noise", help: "How far off the change may be by the spread over steps." },
  operator: {
    title: "Operator",
    help: "The innermost operator around an allocation that does not only allocate.",
  },
  allocatedBase: { title: "Base", help: "What it allocates per step in the base." },
  baseCount: { title: "Base count", help: "Allocations per step of the base." },
  count: { title: "Count", help: "Allocations per step." },
};

/** The tables of what is compared. */
export const diffTables = {
  table: "Table",
  time: "Time",
  device: "Device",
  host: "Host",
  shown: {
    operators: { label: "Operators" },
    shapes: { label: "Shapes", title: "Operators by name and input shapes" },
    kernels: { label: "Kernels" },
    modules: { label: "Modules" },
    annotations: { label: "Annotations", title: "Ranges of record_function" },
    flame: { label: "Flame graph", title: "The call trees of both as one, colored by their change" },
    memory: { label: "Memory", title: "Of each device, and by the operators that allocate" },
    steps: { label: "Steps", title: "The first of one beside the first of the other, and so on" },
  },
  nouns: {
    operators: { noun: "operator", nouns: "operators" },
    shapes: { noun: "operator", nouns: "operators" },
    kernels: { noun: "kernel", nouns: "kernels" },
    modules: { noun: "module", nouns: "modules" },
    annotations: { noun: "annotation", nouns: "annotations" },
  } satisfies Record<Diff["by"], { noun: string; nouns: string }>,
  heads: {
    operators: "Operator",
    shapes: "Operator",
    kernels: "Kernel",
    modules: "Module",
    annotations: "Annotation",
  } satisfies Record<Diff["by"], string>,
  stepNoun: { noun: "step", nouns: "steps" },
  inputShapes: "Input shapes",
  kind: "Kind",
  statusHelp: "Whether only one of the two has it.",
  base: {
    title: "Base",
    help: (time: Diff["time"]) => `${time === "device" ? "Device" : "Host"} time per step of the base.`,
  },
  now: { title: "New", help: "The same in the new run." },
  change: { title: "Change", help: "New less base, per step." },
  relative: { title: "Relative", help: "The change as a share of the base." },
  certainty: {
    title: "Significance",
    help: "Whether the change is more than the spread of steps (99 %) and the error bounds of inferred times.",
  },
  noise: {
    title: "± Noise",
    help: "How far off the change may be by the spread over steps, by the test of the step's figures.",
  },
  bound: { title: "± Bound", help: "How far off the change may be as device times are inferred." },
  deviceChange: { title: "Device change", help: "The change of its device time per step." },
  hostChange: { title: "Host change", help: "The change of its host time per step." },
  /** The trace that a figure is of. */
  ofSide: { base: (what: string) => `Base ${what}`, now: (what: string) => `New ${what}` },
  baseCalls: { title: "Base calls", help: "Per step." },
  calls: { title: "Calls", help: "Per step." },
  open: (name: string) => `Open ${name}`,
  close: (name: string) => `Close ${name}`,
  wasCalled: (name: string) => ` (base: ${name})`,
  steps: {
    base: "Base step",
    now: { title: "Step", help: "The link shows it in the timeline." },
    change: { title: "Change", help: "New less base." },
  },
};

/** The selected row: both traces side by side. */
export const diffRow = {
  label: (name: string) => `${name} in both traces`,
  kind: "In both traces",
  inNew: "In the new run",
  inBase: "In the base",
  baseName: (name: string) => `In the base its name is ${name}.`,
  base: "Base",
  now: "New",
  change: "Change",
  time: "Time per step",
  calls: "Calls per step",
  tflops: "TFLOP/s",
  gigabytes: "GB/s",
  noise: (error: string) => `± ${error} by the spread of steps`,
  bound: (error: string) => `± ${error} by error bounds`,
  said: (verdict: string, limits: readonly string[]) => [`Significance: ${verdict}`, ...limits].join(", "),
};

/** The call trees of both as one. */
export const diffFlame = {
  width: "Width",
  both: { label: "Both", title: "Boxes as wide as the mean of both: what is new or gone is seen, too" },
  base: { label: "Base", title: "Boxes as wide as in the base" },
  now: { label: "New", title: "Boxes as wide as in the new run" },
  legend: {
    gone: "removed",
    much_shorter: "− faster by 25 % or more",
    shorter: "− faster",
    same: "≈ no significant change",
    longer: "+ slower",
    much_longer: "+ slower by 25 % or more",
    new: "new",
  },
  empty: "Neither has any time here.",
  label: (by: Diff["time"], boxes: number) => `Differential flame graph by ${by} time, ${boxes} boxes.`,
  whole: (by: Diff["time"], base: string, now: string) => `${base} → ${now} of ${by} time per step.`,
  perStep: (base: number, now: number) =>
    `Means over ${plural(base, "step")} of the base and ${plural(now, "step")} of the new run.${Math.min(base, now) < 2 ? " With one step no noise is known: small changes may be chance." : ""}`,
  calls: (base: string, now: string) => `${base} → ${now} calls per step`,
};
