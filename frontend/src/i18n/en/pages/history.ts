// English texts of the page of all runs.
import { plural } from "../../count";

export const history = {
  title: "Runs",
  noun: "recording",
  nouns: "recordings",
  trendOf: "Trend of",
  figures: {
    step_ns: "Step time",
    utilization: "Utilization",
    mfu: "MFU",
    memory_peak_bytes: "Memory peak",
  },
  over: "over",
  time: "time",
  noSweep: "No recording has both this parameter and the figure.",
  sweepOf: (figure: string, parameter: string) =>
    `${figure} by ${parameter}, and the medians of recordings with the same value.`,
  sweepPoint: (run: string, parameter: string, value: string, figure: string) =>
    `${run}, ${parameter} ${value}: ${figure}`,
  sources: {
    hparams: "TensorBoard's hyperparameter of the run",
    metadata: "Metadata that the program added",
    environment: "Where the recording was made",
  },
  matching: "Runs named",
  reading: (read: number, all: number) => `${read} of ${plural(all, "recording")} read`,
  waiting: "not read yet",
  keys: "Arrow keys go from recording to recording, Enter picks one.",
  oldest: "oldest",
  latest: "latest",
  point: (run: string, span: number, value: string, outside: boolean) =>
    `${run}, span ${span}: ${value}${outside ? ", outside of the noise" : ""}`,
  summary: (figure: string, recordings: number, changes: readonly string[]) =>
    `${figure} of ${plural(recordings, "recording")} in order of time. ${changes.length ? `Changes: ${changes.join(", ")}.` : "No change beyond the noise."}`,
  from: (run: string, span: number) => `from ${run}, span ${span}, on`,
  levels: (before: string, now: string) => `${before} before, ${now} now:`,
  why: "see why",
  recording: (run: string, span: number) => `${run}, span ${span}`,
  and: " and ",
  pickTwo: "Click two recordings to compare them.",
  pickAnother: "click another one to compare them",
  compare: "Compare them",
  clear: "Clear",
  columns: {
    run: { title: "Run" },
    span: { title: "Span", help: "The recordings of a run, in order of time" },
    written: { title: "Written", help: "When the file was last changed" },
    device: { title: "Device" },
    ranks: { title: "Ranks", help: "How many the run has; the figures are those of the lowest one" },
    step: { title: "Step", help: "Mean duration of the complete steps" },
    steps: { title: "Steps", help: "Complete steps" },
    deviation: { title: "Deviation", help: "Standard deviation between the steps" },
    utilization: { title: "Utilization", help: "Busy device time as a share of the steps" },
    mfu: { title: "MFU", help: "Model FLOPs utilization of the complete steps" },
    memory: { title: "Memory peak", help: "Most bytes allocated on the device" },
    saving: { title: "Saving", help: "Greatest saving of an issue, as a share of the analyzed steps" },
    finding: { title: "Top issue", help: "The issue with the greatest saving" },
    verdict: { title: "Limit", help: "What limits the analyzed steps" },
  },
};
