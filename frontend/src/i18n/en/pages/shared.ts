import type { Evidence, Overview } from "../../../api/types";

type Timeline = Overview["provenance"]["timeline"];

/** By what the times of an activity are known. */
const evidence: Record<Evidence["evidence"], { label: string; meaning: string }> = {
  measured: { label: "measured", meaning: "Start and end were recorded by the device's own profiler." },
  events: { label: "events", meaning: "The device was behind the host, so the time between the operator's two events is device time." },
  end_pinned: { label: "end pinned", meaning: "The device caught up inside the operator: its end is known well, its start less." },
  catalogue: { label: "catalogue", meaning: "The duration is that of other calls of the same operator." },
  sync: { label: "sync", meaning: "The end is that of a host call that waited for the device." },
  bound: { label: "bound", meaning: "Only limits are known: after its launch, before the next known event." },
};

const explained: Record<Timeline, { label: string; meaning: string; way: string }> = {
  measured: {
    label: "measured",
    meaning: "Device times were measured: a device profiler recorded when each activity started and ended. They are drawn solid.",
    way: "How it is known",
  },
  inferred: {
    label: "inferred",
    meaning: "Device times were inferred: the trace has host times and, per operator, the time that passed on the device "
      + "between two events. Starts and ends follow from these and from the order of each stream. They are drawn hatched, "
      + "hollow where only limits are known, their figures are in italics, and ± says how far off they may be.",
    way: "How it was inferred, and what limits it",
  },
  none: {
    label: "host only",
    meaning: "The trace has host times only. Nothing about the device can be told from it, and nothing is made up.",
    way: "Why, and what to change",
  },
};

export const source = {
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
    share: "Share",
    startTypical: "Start, typical",
    startTypicalHelp: "The median of the bounds of their starts.",
    startLargest: "Start, largest",
    durationTypical: "Duration, typical",
    durationTypicalHelp: "The median of the bounds of their durations.",
    durationLargest: "Duration, largest",
    unbounded: "Unbounded",
    unboundedHelp: "Activities of which nothing tells how far off their start may be.",
    meaning: "What it means",
  },
  /** A comment in lines of Python. */
  yourSteps: "your steps, each followed by prof.step()",
};
