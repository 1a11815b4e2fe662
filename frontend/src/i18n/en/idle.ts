const causes = {
  host_operator: { label: "Host operator", help: "The host was in an operator, or a call of the runtime, and had launched nothing yet." },
  host_code: { label: "Host code", help: "The launching thread was in Python, or an annotation, outside of all operators." },
  data_loader: { label: "Data loader", help: "The host waited for the next batch." },
  synchronisation: { label: "Synchronisation", help: "The host was in a call that returns when the device is done: it could launch nothing ahead." },
  communication_wait: { label: "Communication wait", help: "The host waited for other ranks: gloo, barriers, waits for tensors." },
  launch_latency: { label: "Launch latency", help: "The next activity was launched, and had not started: the device's own delay, or another stream's." },
  unknown: { label: "Unknown", help: "Nothing is recorded that tells." },
  other_step: { label: "Another step ran", help: "Between this step's activities, those of another one ran." },
};

/** Why the device was idle. */
export const idle = {
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
  idleOfStep: { title: "Idle", help: "Nothing ran on the device; the causes sum to it. The link shows the step in the timeline." },
};
