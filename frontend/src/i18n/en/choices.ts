import { plural } from "../count";

/** What the selectors of run, rank, span and step offer. */
export const choices = {
  ranks: (n: number) => plural(n, "rank"),
  all: "all",
  noSteps: "the trace has no steps",
  incomplete: (duration: string) => `${duration} incomplete`,
};
