// English texts that several pages show: what is measured, bounds, findings about the data.
import type { Evidence, Finding, Overview, Progress } from "../../../api/types";
import { count, plural } from "../../count";

type Timeline = Overview["provenance"]["timeline"];

/** By what the times of an activity are known. */
const evidence: Record<Evidence["evidence"], { label: string; meaning: string }> = {
  measured: { label: "measured", meaning: "Start and end were recorded by the device's own profiler." },
  events: {
    label: "bracketed by events",
    meaning: "The device was behind the host, so the time between the operator's two events is device time.",
  },
  end_pinned: {
    label: "end-anchored",
    meaning: "The device caught up inside the operator: its end is known well, its start less.",
  },
  catalogue: { label: "catalogue", meaning: "The duration is that of other calls of the same operator." },
  sync: { label: "sync", meaning: "The end is that of a host call that waited for the device." },
  bound: { label: "bound", meaning: "Only limits are known: after its launch, before the next known event." },
};

const explained: Record<Timeline, { label: string; meaning: string; way: string }> = {
  measured: {
    label: "measured",
    meaning:
      "Device times were measured: a device profiler recorded when each activity started and ended. They are drawn solid.",
    way: "How it is known",
  },
  inferred: {
    label: "inferred",
    meaning:
      "Device times were inferred: the trace has host times and, per operator, the time that passed on the device " +
      "between two events. Starts and ends follow from these and from the order of each stream. They are drawn hatched, " +
      "hollow where only limits are known, their figures are in italics, and ± says how far off they may be.",
    way: "How it was inferred, and what limits it",
  },
  none: {
    label: "host only",
    meaning:
      "The trace has host times only. It says nothing about the device, and no device time is invented.",
    way: "Why, and what to change",
  },
};

export const timelineSource = {
  evidence,
  explained,
  inferredWithin: (bound: string) => `inferred ${bound}`,
  notKnown: "not known",
  exact: "exact",
  unknown: "unknown",
  columns: {
    evidence: "Evidence",
    activities: "Activities",
    deviceTime: "Device time",
    share: "Of device time",
    startTypical: "Start, typical",
    startTypicalHelp: "The median of the bounds of their starts.",
    startLargest: "Start, largest",
    durationTypical: "Duration, typical",
    durationTypicalHelp: "The median of the bounds of their durations.",
    durationLargest: "Duration, largest",
    unbounded: "Unbounded",
    unboundedHelp: "Activities whose start has no known error bound.",
  },
  /** A comment in lines of Python. */
  yourSteps: "your steps, each followed by prof.step()",
};

const severities: Record<Finding["severity"], string> = { error: "Error", warning: "Warning", info: "Note" };

/** Findings about the data, in short. */
export const dataWarnings = {
  severities,
  /** `1 error, 2 warnings`; notes only where there is nothing worse. */
  summary: (errors: number, warnings: number, notes: number) =>
    [errors && plural(errors, "error"), warnings && plural(warnings, "warning")].filter(Boolean).join(", ") ||
    (notes > 0 ? plural(notes, "note") : "data OK"),
  more: (n: number) => ` And ${n} more.`,
  quality: "Quality",
  method: "Method",
  without: (streams: string) => `without ${streams}`,
  missing: (streams: string) =>
    `Times of the device are lower bounds, idle times upper bounds: the work of ${streams} has no times.`,
};

const phases: Record<Progress["phase"], string> = {
  waiting: "Waiting for its turn, or for another server that reads it",
  reading: "Reading the trace",
  inferring: "Putting the timeline together",
  computing: "Computing what the page shows",
  storing: "Storing the result",
};

export const loadStates = {
  phases,
  canceled: "Reading was canceled",
  canceledWhy: "The trace was not read to its end, so there is nothing to show of it.",
  readAgain: "Read it again",
  loading: "Loading…",
  bytesRead: "Bytes read",
  ranks: (done: number, all: number) => `${count(done)} of ${count(all)} ranks`,
  bytes: (done: string, all: string) => `${done} of ${all}`,
  events: (events: number) => `${count(events)} events`,
  soFar: (seconds: number) => `${seconds} s so far`,
  left: (seconds: number) => `about ${count(seconds)} s left`,
  cancel: "Cancel",
  retry: "Retry",
  firstRun: "Show the first run",
  steadyWindow: "Show the steady window",
  noFindings: "None: nothing had to be repaired or left out.",
};

export const onDemand = {
  hint: "The server has stopped, or it was updated. Retry loads the whole page.",
};

export const eventLink = {
  title: (name: string, thread: string, start: string) =>
    `${name}\n${thread}\n${start} after the recording's start\nShow its record`,
  noName: "(no name)",
  /** Where it is, when it starts, and what is said about it, if anything is. */
  at: (thread: string, start: string, note: string | null) =>
    `${thread}, at ${start}${note ? `, ${note}` : ""}`,
};

export const noDeviceTimes = {
  noDeviceTimes: "This trace has no device times.",
  hostOnly: "This trace holds host activity only.",
  cpuAlone: "If the run used the CPU alone, nothing is missing.",
  deviceAfterAll: "It did use a device?",
  notRecorded: "Then its activity was not recorded. With these lines it is:",
  why:
    "In its default state torch.profiler records host times only on a PrivateUse1 device: it never calls the " +
    "backend's ProfilerStubs, so no device time reaches the trace.",
  changeCapture: "Change the capture to these lines; they take the arguments of torch.profiler.profile:",
  captureLines: "Lines that record device times",
  follows: "What follows is what the host did.",
};

/** Of a recording without a trace: the page that shows it. */
export const partialRecording = {
  snapshot_alone: "What was allocated, and by which line, is on the page Memory.",
  memory_timeline_alone:
    "What was allocated when is on the page Memory, sums by category on the page Counters.",
  flight_recorder_alone: "Which rank did not join which collective is on the page Ranks.",
  no_events: "What is known of the file is on the page Recording.",
  nothing_read: "What is known of the file is on the page Recording.",
};

/** What the selectors of run, rank, span and step offer. */
export const selectorChoices = {
  ranks: (n: number) => plural(n, "rank"),
  steady: "steady part",
  all: "all",
  noSteps: "the trace has no steps",
  incomplete: (duration: string) => `${duration} incomplete`,
};

export const stepLink = {
  listed: (listed: number, all: number) => `${count(listed)} of ${count(all)} steps are listed`,
  title: (name: string) => `${name}\nShow it in the timeline`,
};

/** The overview's most valuable findings. */
export const topFindings = {
  title: "Top issues",
  titleNote: "estimated savings",
  looking: "Looking for what could be faster…",
  failed: (message: string) => `Issues cannot be shown: ${message}`,
  retry: "Try again",
  nothing: "No issues found.",
  noSaving: "No issue with a quantified saving.",
  looked: "Checks run",
  others: (n: number) => plural(n, "other issue"),
  all: (n: number) => `All ${count(n)} issues`,
  why: "Why, and how to fix it",
  ofSteps: (time: string) => `${time} of the analyzed steps`,
  perStep: (time: string) => `${time} per step`,
};

export const cards = {
  totals: "Device totals",
  totalsNote: (step: number | null) =>
    `${step === null ? "of the recording" : `of step ${step}`}, as shares of the window`,
  rows: {
    compute: {
      label: "Computation, total",
      title: "At least one kernel ran that is not communication.",
    },
    communication: {
      label: "Communication, total",
      title:
        "At least one communication kernel ran. The exposed part, in which nothing else ran, is among the classes of time.",
    },
    overlap: { label: "Overlap of both", title: "Computation and communication at once." },
    memcpy: {
      label: "Copies, total",
      title: "At least one copy ran. The exposed part, in which no kernel ran, is among the classes of time.",
    },
    memset: {
      label: "Fills, total",
      title:
        "At least one fill ran. The exposed part, in which nothing else ran, is among the classes of time.",
    },
    unknown: {
      label: "Launcher unknown, total",
      title:
        "Marks waited for the device, and no known operator launched what it did: a replayed graph, a library, another thread.",
    },
  },
  linked: (linked: string, unlinked: number) =>
    `${linked} activities are linked to the operator that launched them${unlinked ? `, ${count(unlinked)} are not` : ""}.`,
};
