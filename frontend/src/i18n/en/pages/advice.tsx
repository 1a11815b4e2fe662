// English texts of the advice page: findings, their evidence and their fixes.
import type { ComponentChildren } from "preact";
import type { AdviceRow, RuleStatus } from "../../../api/types";
import { count, plural } from "../../count";

const causes: Record<AdviceRow["cause"], { title: string; short: string }> = {
  input: { title: "Input-bound", short: "Input" },
  launching: { title: "Host-bound", short: "Host" },
  waiting: { title: "Blocking waits", short: "Waiting" },
  device: { title: "Device work", short: "Device" },
  communication: { title: "Communication between ranks", short: "Communication" },
  memory: { title: "Memory", short: "Memory" },
  fallback: { title: "CPU fallback", short: "Fallback" },
  recording: { title: "Profiling setup", short: "Recording" },
};

const severities: Record<AdviceRow["severity"], string> = {
  high: "High",
  medium: "Medium",
  low: "Low",
  note: "Note",
};

const confidences: Record<AdviceRow["confidence"], string> = { high: "high", medium: "medium", low: "low" };

const answers: Record<RuleStatus["answer"], string> = {
  found: "found something",
  nothing: "nothing found",
  not_asked: "skipped",
  failed: "failed: please report it",
};

export const advice = {
  causes,
  severities,
  confidences,
  answers,
  cause: "Cause",
  all: "All",
  allHelp: "Issues of all causes",
  putAside: (n: number) => `${plural(n, "issue")} dismissed`,
  bringBack: "Restore",
  oneOfRanks: (ranks: number, distributed: (text: string) => ComponentChildren) => (
    <>
      This is one of {count(ranks)} ranks. {distributed("Ranks")} compares them, and says which one the others
      wait for.
    </>
  ),
  ofTime: (share: string) => `${share} of the time`,
  nothingBehind: "nothing after those above",
  saved: {
    label: "Could be saved",
    unit: "of 1",
    note: (step: number | null, steps: number) =>
      `of ${step !== null ? `step ${step}` : steps === 0 ? "the analyzed time" : plural(steps, "step")}, estimated`,
    unknown: "no saving is known",
    help: "All issues fixed together, by one replay: the sum of what each saves behind those above it. A share is of the step without the profiler's own time, where the recording tells it.",
  },
  perStep: {
    label: "Per step",
    labelAll: "In the analyzed time",
    unit: "ns, all analyzed steps",
    note: (whole: string, isNet: boolean) => `of ${whole}${isNet ? " without the profiler" : ""}`,
    help: "The savings of all issues by the number of analyzed steps.",
  },
  findings: {
    label: "Issues",
    unit: "issues",
    note: (high: number) => `${count(high)} high`,
    help: "High: 10 % of the time or more; medium: 3 %; low: less. A note has no known saving.",
  },
  rules: {
    label: "Checks run",
    unit: "rules",
    value: (answered: number, all: number) => `${count(answered)} of ${count(all)}`,
    some: "others need data that was not recorded",
    all: "all of them",
    help: "Rules read operators, device times, shapes, stacks, memory: below stands which were asked and what they answered.",
  },
  nothing: "No issues found.",
  fine: "Checked and fine",
  open: "No remedy known",
  nothingBy: (looked: number) => `${plural(looked, "check")} found nothing worth half a percent of the time.`,
  noSaving: "No saving is known",
  savingOf: (saving: string, whole: string, isNet: boolean) =>
    `${saving} of ${whole}${isNet ? " without the profiler's own time" : ""}`,
  fix: "Fix",
  before: "Before",
  after: "After",
  next: "Next limit",
  where: "Where",
  saves: "Saves",
  savesPerStep: (saving: string, share: string) => `${saving}, ${share}`,
  rangeHelp: "The saving under the lowest and the highest assumptions",
  rangeOfAll: (low: string, high: string) =>
    `The saving under the lowest and the highest assumptions: ${low} to ${high} in all analyzed steps`,
  behind: (share: string) => `; ${share} behind the issues above`,
  behindShort: (share: string) => `after those above −${share}`,
  behindHelp: "What it saves once the issues above are fixed. These sum to the saving of all issues.",
  change: "Try it (what-if)",
  trial: "Try it on your program",
  trialHelp: "Applies the fix while the program runs, and measures the gain; no file is changed",
  how: "How computed",
  confidence: "Confidence",
  lacks: (what: readonly string[]) => `; not recorded: ${what.join("; ")}`,
  events: "Events",
  someEvents: (shown: number, all: number) => `${count(shown)} of ${count(all)} events`,
  timeline: "timeline",
  reference: "Reference",
  put: "Dismiss",
  putHelp: "Hide this issue; the address keeps it so",
  looked: "Checks run",
  rule: "Rule",
  answer: "Answer",
  lacking: "Not recorded",
  list: (what: readonly string[]) => what.join("; "),
};
