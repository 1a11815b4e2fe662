import { count, plural } from "../../count";

export const overview = {
  steps: "Steps",
  step: { noun: "step", nouns: "steps" },
  clickOne: "click one to select it",
  selected: (step: number) => `step ${step} selected`,
  showAll: "show all",
  noSteps: "The trace has no steps.",
  /** What a word such as `inferred` stands for. */
  meaning: (word: string) => `What ${word} means here`,
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
  kinds: {
    capture: "graph capture",
    compilation: "compilation",
    startup: "start-up",
    drain: "drain of earlier work",
    profiler_stop: "profiler stops",
    steady: "steady",
  },
};

/** The average step. */
export const averages = {
  title: "Average step",
  of: (steps: number) => `of ${plural(steps, "complete step")}`,
  save: "Download the averages, exact values in ns",
  part: "Part",
  mean: "Mean",
  share: "Share",
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
    note: (deviation: string, least: string, most: string, steps: string) =>
      `σ ${deviation}, ${least} to ${most}, ${steps}`,
    help: "Mean duration of the complete steps, with its standard deviation and extremes.",
  },
  utilisation: {
    label: (step: number | null) => (step === null ? "Device utilisation" : ofStep("Utilisation", step)),
    none: "no device times",
    note: "busy within the steps",
    help: "Busy device time within the steps' windows, as a share of these windows.",
  },
  smEfficiency: {
    label: (step: number | null) => ofStep("SM efficiency", step),
    note: (occupancy: string) => `occupancy ${occupancy}`,
    help: "Within the steps, the share of multiprocessors that held blocks; and the occupancy of kernels, weighted by duration. CUPTI estimates both from launches.",
  },
  ofSpan: (share: string) => `${share} of the device's span`,
  busy: {
    label: (step: number | null) => ofStep("Busy", step),
    help: "At least one device activity ran: the union over all streams.",
  },
  idle: {
    label: (step: number | null) => ofStep("Idle", step),
    help: "Between the first and the last device activity, none ran.",
  },
  kernels: {
    label: (step: number | null) => ofStep("Kernels", step),
    unit: "kernels",
    others: (communication: number, memcpys: number, memsets: number) =>
      [
        communication ? `${count(communication)} communication` : "",
        memcpys ? plural(memcpys, "memcpy", "memcpys") : "",
        memsets ? plural(memsets, "memset") : "",
      ]
        .filter(Boolean)
        .join(", "),
    help: "Kernels on the device that are not communication; what else ran there stands below.",
  },
  recording: {
    label: "Recording",
    steps: (n: number) => plural(n, "step"),
    help: "From the first event to the last.",
  },
};

const causes = {
  host_operator: {
    label: "Host operator",
    help: "The host was in an operator, or a call of the runtime, and had launched nothing yet.",
  },
  host_code: {
    label: "Host code",
    help: "The launching thread was in Python, or an annotation, outside of all operators.",
  },
  data_loader: { label: "Data loader", help: "The host waited for the next batch." },
  synchronisation: {
    label: "Synchronisation",
    help: "The host was in a call that returns when the device is done: it could launch nothing ahead.",
  },
  communication_wait: {
    label: "Communication wait",
    help: "The host waited for other ranks: gloo, barriers, waits for tensors.",
  },
  launch_latency: {
    label: "Launch latency",
    help: "The next activity was launched, and had not started: the device's own delay, or another stream's.",
  },
  unknown: { label: "Unknown", help: "Nothing is recorded that tells." },
  other_step: {
    label: "Another step ran",
    help: "Between this step's activities, those of another one ran.",
  },
};

/** Why the device was idle. */
export const idleTime = {
  causes,
  title: "Idle time",
  titleNote: (step: number | null, whole: string, inferred: boolean) =>
    `${step === null ? "of the recording" : `of step ${step}`}: ${whole}, by what the device waited for${inferred ? "; inferred, as the device times are" : ""}`,
  never: "The device was never idle between its first and its last activity.",
  share: (cause: string, share: string) => `${cause} ${share}`,
  shares: (causes: readonly string[]) => `Causes of idle time: ${causes.join(", ")}`,
  part: (cause: string, time: string, share: string) => `${cause}: ${time}, ${share}`,
  cause: "Cause",
  idle: "Idle",
  ofTotal: "Share",
  stretches: "Stretches",
  stretchesHelp: "Stretches of time that it has.",
  longest: "Longest",
  longestHelp: "Opens the timeline there.",
  before: "Before the operator",
  beforeHelp: "The operator whose activity ended the wait.",
  gaps: "Gaps",
  noOperator: "no operator",
  bySteps: "Idle time by step",
  byStepsNote: "within the steps' windows",
  stepNoun: { noun: "step", nouns: "steps", label: "idle time by step" },
  step: "Step",
  idleOfStep: {
    title: "Idle",
    help: "Nothing ran on the device; the causes sum to it. The link shows the step in the timeline.",
  },
};
