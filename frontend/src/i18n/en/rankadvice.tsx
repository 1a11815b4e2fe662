import type { ComponentChildren } from "preact";
import { count, plural } from "../count";

/** The advice of all ranks together; what is not here it has in common with that of one rank. */
export const rankadvice = {
  title: "Advice",
  titleNote: (findings: number, link: (text: string) => ComponentChildren) => <>{plural(findings, "finding")} of all ranks together; each rank has {link("its own")}</>,
  symptoms: "Shows as",
  ofStep: (time: string) => `${time} of a mean step`,
  ranks: (n: number) => (n === 1 ? "Rank" : `${count(n)} ranks`),
  rank: (rank: number) => `rank ${rank}`,
};
