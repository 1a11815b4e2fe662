import { plural } from "../count";

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
