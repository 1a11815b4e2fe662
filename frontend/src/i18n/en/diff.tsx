import type { ComponentChildren } from "preact";
import type { Diff, DiffAllocator, DiffRow } from "../../api/types";
import { plural } from "../count";

const verdicts: Record<DiffRow["verdict"], string> = {
  longer: "longer", shorter: "shorter", within_noise: "within noise", within_bound: "within bounds", same: "no change", unknown: "not certain",
};

const statuses: Record<DiffRow["status"] | DiffAllocator["status"], string> = { both: "", new: "new", gone: "gone" };

/** Two traces side by side. */
export const diff = {
  verdicts,
  statuses,
  nothing: "There is nothing to compare with",
  oneTrace: (choose: (text: string) => ComponentChildren) =>
    <>This logdir has one trace only. Put another run's directory into it, or compare two steps: {choose("choose them")}.</>,
  commandLine: (command: ComponentChildren) => <>On the command line the two may be anywhere: {command}.</>,
  comparedWith: "compared with",
  run: "Run",
  rank: "Rank",
  span: "Span",
  step: "Step",
  all: "all",
  swap: "Swap",
  swapHelp: "What was the base becomes what is compared",
  parts: "What the step's change is made of",
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
  bySpread: (error: string) => `± ${error} by the spread of steps`,
  byBounds: (error: string) => `± ${error} by error bounds`,
  /** What was said of a change, one after the other. */
  said: (parts: readonly string[]) => parts.join(", "),
  fromTo: (what: string, base: string, now: string, said: string) => `${what}: from ${base} to ${now}, ${said}`,
};
