import { count, plural } from "../count";

/** The overview's most valuable findings. */
export const best = {
  title: "What to mend first",
  titleNote: "and what it would save",
  looking: "Looking for what could be faster…",
  failed: (message: string) => `Findings cannot be shown: ${message}`,
  retry: "Try again",
  nothing: "Nothing was found.",
  noSaving: "Nothing was found of which it is known what it would save.",
  looked: "What was looked for",
  others: (n: number) => plural(n, "other finding"),
  all: (n: number) => `All ${count(n)} findings`,
  why: "Why, and how to mend it",
  ofSteps: (time: string) => `${time} of the judged steps`,
  perStep: (time: string) => `${time} per step`,
};
