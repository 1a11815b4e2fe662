// English texts of the overview.
import { count, plural } from "../../count";

export const overview = {
  steps: "Steps",
  step: { noun: "step", nouns: "steps" },
  clickOne: "click one to select it",
  selected: (step: number) => `step ${step} selected`,
  showAll: "show all",
  listed: (first: number, last: number, all: number) =>
    `Steps ${count(first)} to ${count(last)} of ${count(all)} are listed.`,
  allCount: "Averages and all other figures are of all steps.",
  before: "previous steps",
  after: "next steps",
  device: "Device",
  run: "Run",
  cutOff: "cut off",
  cutOffHelp: "Cut off by the end of the recording; not in the averages.",
  primed: "primed",
  primedHelp: "The capture kept the device busy first, so that durations show; not in the averages.",
  columns: {
    step: { title: "Step" },
    start: { title: "Start", help: "Since the recording's start; the link shows the step in the timeline." },
    duration: { title: "Duration" },
  },
  part: (category: string) => `What part of the step goes to ${category}; the parts sum to the duration.`,
  legend: "What the steps go to",
  average: "average",
};

/** The kind of recording, and its phases. */
export const recordingLine = {
  phases: "Phases of the recording",
  rest: "the rest",
  parts: (phases: number) => `in ${count(phases)} parts`,
  kinds: {
    capture: "graph capture",
    compilation: "compilation",
    startup: "start-up",
    drain: "drain of earlier work",
    profiler_stop: "profiler stops",
    steady: "steady",
  },
};

/** What limits the recording. */
export const verdictLine = {
  longest: "The longest interval on the timeline",
};

/** The average step. */
export const averages = {
  title: "Average step",
  of: (steps: number) => `of ${plural(steps, "complete step")}`,
  save: "Download the averages, exact values in ns",
  part: "Part",
  mean: "Mean",
  share: "Of the step",
  shareHelp: "Of the mean duration.",
  deviationHelp: "Standard deviation over the steps.",
  least: "Least",
  most: "Most",
  step: (step: number | null) => `Step ${step ?? ""}`,
  difference: "Difference",
  differenceHelp: "The selected step's less the mean.",
  whole: "Step",
};

const ofStep = (what: string, step: number | null): string =>
  step === null ? what : `${what}, step ${step}`;

/** The row of key figures on top of the overview. */
export const keyFigures = {
  share: "of 1",
  steps: (complete: number, cut: number, primed: number) =>
    plural(complete, "step") +
    (cut > 0 ? `, ${count(cut)} incomplete` : "") +
    (primed > 0 ? `, ${count(primed)} primed` : ""),
  step: {
    label: (step: number | null) => `Step ${step}`,
    incomplete: "incomplete",
    ofAverage: (share: string) => `${share} of the average`,
    help: "The selected step's window.",
  },
  average: {
    label: "Average step",
    single: "Step",
    iteration: "Average iteration",
    ofIterations: "by what repeats",
    note: (deviation: string, least: string, most: string, steps: string) =>
      `σ ${deviation}, ${least} to ${most}, ${steps}`,
    part: (averaged: number, steps: string) => `${count(averaged)} of ${steps}`,
    help: "Mean duration of the complete steps, with its standard deviation and extremes.",
  },
  utilization: {
    label: (step: number | null) => (step === null ? "Device utilization" : ofStep("Utilization", step)),
    note: "busy within the steps",
    noteOfSteady: "busy within the steady part",
    noteOfAll: "busy within the recording",
    noteOfPhase: "busy within the phase",
    help: "Busy device time within the window, as a share of it.",
  },
  smEfficiency: {
    label: (step: number | null) => ofStep("SM efficiency", step),
    note: (occupancy: string) => `occupancy ${occupancy}`,
    help: "Within the steps, the share of multiprocessors that held blocks; and the occupancy of kernels, weighted by duration. CUPTI estimates both from launches.",
  },
  between: (range: string) => `(${range})`,
  kernels: {
    label: (step: number | null) => ofStep("Kernels", step),
    unit: "kernels",
    others: (communication: number, memcpys: number, memsets: number, unknown: number) =>
      [
        communication ? `${count(communication)} communication` : "",
        memcpys ? plural(memcpys, "memcpy", "memcpys") : "",
        memsets ? plural(memsets, "memset") : "",
        unknown ? `${count(unknown)} of unknown launchers` : "",
      ]
        .filter(Boolean)
        .join(", "),
    help: "Kernels on the device that are not communication; what else ran there stands below.",
  },
  recording: {
    label: "Recording",
    steps: (n: number) => (n === 0 ? "no steps recorded" : plural(n, "step")),
    help: "From the first event to the last.",
  },
};

/** Where all time of the window goes. */
export const timeAccount = {
  title: "Account of time",
  window: (step: number | null, steps: number, steady: boolean, time: string) =>
    step !== null
      ? `of step ${step}, ${time}`
      : steps > 0
        ? `of ${plural(steps, steady ? "steady step" : "step")}, ${time}`
        : `of the ${steady ? "steady part" : "recording"}, ${time}`,
  ofDevice: (device: number, window: string) => `on device ${device}, ${window}`,
  idle: (window: string, time: string, share: string, range: string) =>
    `${window}: idle ${time}, ${share}${range && ` (${range})`}`,
  groups: {
    device: "On the device",
    blocked: "Host blocked",
    host: "Host working",
    queue: "In the queue",
    outside: "Outside of the recording",
  },
  devices: "Device",
  all: "All",
  allHelp: "A device works as long as any of them does",
  device: (device: number) => `Device ${device}`,
  share: (label: string, share: string) => `${label} ${share}`,
  shares: (shares: readonly string[]) => `Shares of the window: ${shares.join(", ")}`,
  part: (label: string, time: string, share: string, range: string, meaning: string) =>
    `${label}: ${time}, ${share}${range && ` (${range})`}\n${meaning}`,
  exactly: (time: string, range: string) => (range ? `${time}, ${range}` : time),
  class: "Class",
  time: "Time",
  ofWindow: "Of the window",
  ofWindowHelp: "Of the window.",
  range: "Range",
  rangeHelp: "The least and the greatest share of the window that the inferred times allow.",
  onPath: "On the critical path",
  onPathHelp: "Of the step, on average: its part of the critical path. Time off the path gains nothing.",
  small: (classes: number, share: string) => `${plural(classes, "class", "classes")} below 1 %: ${share}`,
  fold: "Fold classes below 1 %",
  stretches: "Intervals",
  stretchesHelp: "The number of intervals.",
  longest: "Longest",
  longestHelp: "The longest interval; the link shows it on the timeline.",
  names: "Name",
  largest: "Longest intervals",
  place: "Place",
  function: "Function",
  duration: "Duration",
  timeline: "Timeline",
  show: "show on timeline",
  noEvent: "no event",
};

/** Where the time of the step goes, by name. */
export const hotspots = {
  title: "Where the time goes",
  note: {
    device: (whole: string) => `device time, per cent of ${whole}; streams that overlap count each`,
    host: (whole: string) => `host time of operators, per cent of ${whole}; threads count each`,
  },
  by: "Rows",
  groups: {
    operator: { label: "Operator", title: "By operator", without: "no parent operator" },
    kernel: { label: "Kernel", title: "By kernel", without: "no kernel" },
    module: {
      label: "Module class",
      title: "By class of the innermost module",
      without: "outside of modules",
    },
    function: {
      label: "Function",
      title: "By the innermost function outside of known libraries",
      without: "no function",
    },
    annotation: { label: "Annotation", title: "By the innermost annotation", without: "no annotation" },
  },
  none: "Nothing ran in the steps.",
  events: (name: string, events: number, measure: "device" | "host") =>
    `${name}\n${measure === "device" ? plural(events, "activity", "activities") : plural(events, "call")}`,
  others: (rows: number, share: string) => `${plural(rows, "more row")}: ${share}`,
  functionShare: (share: string) => `The function with most of this time: ${share} of it`,
  otherFunctions: "and others",
};

/** The small roofline. */
export const rooflineThumbnail = {
  page: "Roofline",
  title: (points: number) => `Roofline: ${plural(points, "kernel")} under the roof. Open the page`,
  axes: "FLOP/s over FLOP per byte: the line is the roof",
};

/** The operators that the idle device waited for. */
export const idleBefore = {
  title: "Idle time before operators",
  note: "by the operator whose activity ended it",
  operator: "Operator",
  operatorHelp: "The operator whose activity ended the idle time.",
  idle: "Idle",
  share: "Of idle time",
  shareHelp: "Of all idle time of the window.",
  gaps: "Gaps",
  longest: "Longest",
  longestHelp: "The longest gap; the link shows it on the timeline.",
  noOperator: "no operator",
};

/** What the steps use of the device's peak, and their samples and tokens. */
export const deviceUse = {
  title: "Use of the device's peak",
  throughput: "Throughput",
  note: (step: number | null) => (step === null ? "complete steps" : `step ${step}`),
  noSteps: "the analyzed time",
  allFlops: "Model FLOP",
  rows: {
    mfu: {
      label: "MFU",
      help: "Model FLOPs utilization: FLOPs of matrix products that the model needs, by the peak, as a share of the steps' time.",
    },
    hfu: {
      label: "HFU",
      help: "Hardware FLOPs utilization: the same with the products that activation checkpointing computes again.",
    },
    product_flops: {
      label: "Model FLOP per step",
      help: "Operations of matrix products, convolutions and attention in a step, on average.",
    },
    samples_per_s: {
      label: "Samples per second",
      help: "Of this rank: the first dimension of the first operator of each forward pass, by the steps' time.",
    },
    tokens_per_s: {
      label: "Tokens per second",
      help: "Of this rank: indices that are looked up in the largest embedding, by the steps' time.",
    },
  },
};
