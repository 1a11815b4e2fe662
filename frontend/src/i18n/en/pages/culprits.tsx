// English texts about ranks that keep the others waiting.
import type { ComponentChildren } from "preact";
import type { Culprit } from "../../../api/types";
import { count, plural } from "../../count";

const kinds: Record<Culprit["kind"], string> = {
  rank: "slow",
  node: "slow node",
  link: "slow link",
  missing: "misses collectives",
  input: "late data loader",
  throttled: "slower device",
};
const causes: Record<Culprit["cause"], string> = {
  computation: "Computation takes longer",
  copy: "Copies take longer",
  host: "The device is idle for longer, because its host launches late",
  input: "It waits longer for its data loader",
  transfer: "Transfers take longer than those of sibling groups",
  unknown: "The recording does not show what takes longer",
};
const meanings: Record<Culprit["cause"] | "throttled" | "missing", string> = {
  computation: "Look for more work than on the peers, such as longer samples, or for slower kernels.",
  throttled:
    "Nearly all kernels are slower, in as many calls: check the device's clock rate, power and cooling.",
  copy: "Compare number, size and memory (pinned or not) of the copies with a peer's.",
  host: "Check processor load and affinity, garbage collection and logging.",
  input: "Check the loader's workers, the storage, and the size of the samples there.",
  transfer: "Check the network between these ranks: link speed, routes, other traffic.",
  missing:
    "The others make calls that it does not make, or its trace lost events. Without them a job can hang.",
  unknown: "Compare its timeline with that of a rank that waits.",
};

export const culprits = {
  title: "Who keeps the others waiting",
  titleNote: (n: number) => `${plural(n, "cause")} beyond chance, over all complete steps`,
  none: (least: string) =>
    `No rank keeps the others waiting beyond chance. Waits below ${least} a step are not listed; if steps vary much, longer ones can stay hidden.`,
  fewSteps: (n: number) => `To name ranks that keep the others waiting, record ${n} complete steps or more.`,
  kinds,
  host: (name: string, ranks: string) => `Host ${name}, ranks ${ranks}`,
  group: (name: string, ranks: string) => `Group ${name}, ranks ${ranks}`,
  ranks: (ranks: string, n: number) => (n === 1 ? `Rank ${ranks}` : `Ranks ${ranks}`),
  onHost: (name: string) => `on ${name}`,
  cost: (time: string) => `the others wait ${time} a step`,
  noCost: "waiting time not known",
  causeName: "Cause",
  waiting: "Waiting",
  evidenceName: "Evidence",
  pages: "Pages",
  colon: ": ",
  compare: "To compare:",
  meanings,
  cause: (cause: Culprit["cause"], time: string | null) =>
    `${causes[cause]}${time === null ? "" : ` by ${time} a step`}.`,
  inKernel: (time: string, kernel: ComponentChildren) => (
    <>
      {time} of it in {kernel}.
    </>
  ),
  mostly: (name: string) => `Most of it: ${name}.`,
  excess: (time: string, bound: string, isLink: boolean) =>
    `${isLink ? "Transfers take" : "Own work takes"} ${time} ± ${bound} (99 %) a step longer than the median of the peers`,
  uncertain: (steps: number) => `With ${plural(steps, "step")} the size of the difference is uncertain.`,
  fewerCalls: "Fewer calls than most members of the group",
  evidence: (what: string, steps: number, all: number, jobs: number) =>
    `${what}, in ${count(steps)} of ${plural(all, "step")}. By chance in fewer than 1 of ${count(jobs)} jobs.`,
  timeline: "timeline",
  overview: "summary",
  more: (list: string, n: number) => `${list} and ${count(n)} more`,
  /** The line of the summary. */
  compareAll: (n: number) => `compare ${count(n)} ranks`,
  comparing: (done: number, all: number) => `Comparing the ranks: ${count(done)} of ${count(all)} read …`,
  again: "again",
  notShown: "Whether ranks wait for each other does not show in these recordings.",
  ranksPage: "Ranks",
  comma: ": ",
  between: "; ",
  end: ". ",
  moreCauses: (n: number) => `and ${plural(n, "more cause")}`,
};
