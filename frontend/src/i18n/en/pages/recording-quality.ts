// English texts of the recording page's findings about the data.
import type { Finding } from "../../../api/types";
import { count } from "../../count";

/** What a finding is about. */
const figures: Record<Finding["affects"][number], string> = {
  totals: "device totals",
  steps: "steps",
  operators: "operators",
  kernels: "kernels",
  memory: "memory",
  stacks: "stacks",
};

export const quality = {
  figures,
  events: "Events",
  findingsUnit: "findings",
  eventsUnit: "events",
  ofOne: "of 1",
  errors: "Errors",
  errorsHelp: "A figure is wrong, or all of a kind are missing.",
  warnings: "Warnings",
  warningsHelp: "Some of a figure is missing or doubtful.",
  notes: "Notes",
  notesHelp: "No figure is wrong, but its reader should know.",
  linked: "Linked",
  linkedOf: (step: number) => `Linked, step ${step}`,
  allActivities: "all device activities",
  accuracyClass: (letter: string) => `Accuracy class ${letter} of the backend.`,
  accuracyReason: (reason: string) => `Why no better: ${reason}.`,
  accuracyChecked: (date: string) => `Checked on ${date} by`,
  notLinked: (lost: number, activities: string) => `${count(lost)} of ${activities} activities are not`,
  linkedHelp:
    "Device activities whose launch on the host is known; of an inferred timeline, whose operator is.",
  unlinkedTime: "Unlinked time",
  unlinkedTimeOf: (step: number) => `Unlinked time, step ${step}`,
  ofDeviceTime: (share: string) => `${share} of device time`,
  unlinkedTimeHelp: "The durations of the activities that are not linked.",
  eventsHelp: "What the reader took from the file.",
  nothingWrong: "Nothing wrong was found.",
  allClear:
    "The file is whole, times and clocks fit together, ranges nest, no event is recorded twice, and steps neither overlap nor were cut off.",
  allClearLinked:
    "The file is whole, times and clocks fit together, every device activity is linked, ranges nest, no event is recorded twice, and steps neither overlap nor were cut off.",
  severity: "Severity",
  what: "What",
  count: "Count",
  affects: "Affects",
  examples: "Examples",
  everything: "everything",
  between: ", ",
};
