// English texts of the method: how device times were inferred, and with which constants.
import type { Constant, Method, Overview } from "../../../api/types";
import { plural } from "../../count";

const titles: Record<Overview["provenance"]["timeline"], string> = {
  measured: "The device timeline was measured",
  inferred: "The device timeline was inferred",
  none: "There is no device timeline",
};

/** What the elapsed times of operators are. */
const kinds: Record<NonNullable<Method["kind"]>, string> = {
  none: "There are none",
  event: "The time between two events on the stream",
  kernel_sum: "The sum of the kernels that an operator launched",
  host: "The time of the host's own thread: no stream beside it explains them",
  coarse: "Times in steps too coarse to tell kernels apart",
  unit: "Times in the wrong unit",
};

const sources: Record<Constant["source"], string> = {
  capture: "measured by the capture",
  trace: "found in this trace",
  assumed: "assumed",
};

/** The constants that the inference takes. */
const constantNames: Record<Constant["name"], string> = {
  kernel_gap: "Kernel gap",
  jitter: "Jitter",
  launch_latency: "Launch latency",
  sync_return: "Sync return",
  event_cost: "Event cost",
  elapsed_resolution: "Elapsed resolution",
};

export const method = {
  titles,
  kinds,
  sources,
  constantNames,
  sentence: (text: string) => `${text}.`,
  elapsed: "Source of the elapsed times:",
  howKnown: "Timing method",
  activities: "Activities",
  activitiesOf: (step: number) => `Activities, step ${step}`,
  activitiesUnit: "activities",
  linked: (share: string) => `${share} linked`,
  activitiesHelp: "Kernels, copies and fills on the device.",
  deviceTime: "Device time",
  deviceTimeOf: (step: number) => `Device time, step ${step}`,
  sumOfDurations: "the sum of their durations",
  deviceTimeHelp:
    "The bound is the smaller of two. The worst case adds the bounds of all durations. The statistical one " +
    "lets errors of different work cancel out in part: two standard deviations.",
  twoBounds: (worst: string, statistical: string) =>
    `sum of worst cases ${worst}, statistical ${statistical}`,
  allStarts: "All starts together",
  latencyShift: "from the launch latency",
  allStartsHelp:
    "An error of the launch latency shifts all starts by the same time. Durations, sums and the time between " +
    "two activities do not depend on it.",
  startsTypically: "Starts, typically",
  durationsTypically: "Durations, typically",
  medianBound: "the median bound",
  noFarther: "The truth is no farther away than the bound.",
  besideOthers: "Against each other, starts are no farther off than the bound; a shift of all comes on top.",
  unknown: "unknown",
  timed: "Timed",
  ranges: "ranges",
  operators: (operators: number) => `${plural(operators, "operator")} in the trace`,
  timedHelp: "Operators and annotations with an elapsed device time.",
  limits: "What limits the accuracy",
  worstFirst: "worst first",
  limit: "Limit",
  why: "Why",
  accountsFor: "Accounts for",
  accountsForHelp:
    "How far off this limit alone may put these activities. Errors that are added are the worst case: they may " +
    "exceed the bound of the device time, in which errors of different work cancel out in part.",
  boundKinds: {
    hidden_durations: "of their device time",
    caught_up: "of their device time",
    backlog: "errors of all starts added",
    resolution: "a tick for each, added",
    latency: "shift of all starts",
  },
  whatHelps: "What helps",
  changes: "What to change",
  changesNote: "what helps most first",
  constants: "Constants of the device",
  constant: "Constant",
  value: "Value",
  between: "Between",
  betweenHelp: "What the truth is taken to lie between.",
  source: "Source",
  samples: "Samples",
  samplesHelp: "Single values that it was found from.",
  evidence: "Evidence",
  orMore: (least: string) => `${least} or more`,
  orLess: (most: string) => `${most} or less`,
  fromTo: (least: string, most: string) => `${least} to ${most}`,
  solution: "The solution",
  /** The rows of the solution, by their fields. */
  solutionRows: {
    marks: { name: "Marks", help: "Events around operators: two of each." },
    anchors: { name: "Anchors", help: "Marks at which the host's and the device's time are known to meet." },
    refuted_anchors: { name: "Refuted anchors", help: "Contradicted the others and were dropped." },
    late_stamps: {
      name: "Late time stamps",
      help: "The host's thread was interrupted between an event and its time stamp.",
    },
    crossing: { name: "Crossing marks", help: "Fit no schedule of one stream." },
    claims: { name: "Claims", help: "Intervals that launched nothing, and calls that waited." },
    dropped_claims: { name: "Dropped claims", help: "Contradicted the device times." },
    elsewhere: {
      name: "Durations from other recordings",
      help: "Of this run; none was needed, or knew more.",
    },
    primed: { name: "Durations from primed steps", help: "Of equal work, seen there behind a long kernel." },
    self_test_held: {
      name: "Self-test: bounds that held",
      help: "The capture planted no kernels, or the host could not time them.",
    },
  },
  droppedAt: "Their operators and starts",
  ofPlanted: (all: string) => `Of ${all} bounds of kernels that the capture planted and the host timed.`,
  seenBehind: (others: string) => `The device was seen behind there: ${others}`,
};
