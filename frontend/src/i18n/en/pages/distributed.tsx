// English texts of the page *Ranks*: all ranks of a run.
import type { ComponentChildren } from "preact";
import type { Grid } from "../../../api/types";
import { count, plural } from "../../count";

export const distributed = {
  measures: {
    step: { label: "Step", title: "How long the step takes" },
    computation: { label: "Computation", title: "Kernels that are not communication" },
    exposed: { label: "Exposed communication", title: "Communication that no computation hides" },
    waiting: { label: "Waiting", title: "In collectives, for the last rank to come" },
    idle: { label: "Idle", title: "The device has nothing to do" },
  },
  parts: {
    kernel: "Computation",
    memcpy: "Exposed copies",
    communication: "Exposed communication",
    other: "Idle",
  },
  rank: "Rank",
  ofEachRank: (step: number | null) =>
    step === null ? "The average step of each rank" : `Step ${step} of each rank`,
  onHost: (all: boolean) =>
    ` computation is that of the host: ${all ? "there is no device" : "some ranks have no device"}`,
  grid: "Ranks by steps",
  measure: "Measure",
  order: "Order",
  byRank: "By rank",
  longestFirst: "Longest first",
  stepsEach: (n: number) => `${n} steps a column, on average`,
  gridLabel: (measure: Grid["measure"]) => `Ranks by steps: ${measure}.`,
  cell: (rank: string, step: string, value: ComponentChildren) => (
    <>
      <b>Rank {rank}</b>, step {step}: {value}
    </>
  ),
  unknown: "nothing known",
  legend: "What the ranks' steps go to",
  hiddenHelp: (hidden: string) => `Communication while there is computation: ${hidden} over all ranks.`,
  hidden: (share: string) => `${share} communication hidden by computation`,
  callsOf: (rank: number) => `Calls of rank ${rank}`,
  table: "Table",
  tables: { ranks: "Ranks", collectives: "Collectives", steps: "Steps" },
  nouns: {
    ranks: { noun: "rank", nouns: "ranks" },
    collectives: { noun: "collective", nouns: "collectives" },
    steps: { noun: "step", nouns: "steps" },
  },
  someCollectives: (listed: number, all: number) =>
    `the ${count(listed)} of ${count(all)} with the most time`,
  someRanks: (listed: number, all: number) =>
    `${count(listed)} of ${count(all)}, those for whom the others waited longest`,
  someSteps: (listed: number, all: number) =>
    `the ${count(listed)} of ${count(all)} that took longest against the median of their step`,
  onNode: (host: string) => ` on ${host}`,
  collectiveOnHost: " on the host",
  onRank: (rank: number) => `On rank ${rank}\nShow it in the timeline`,
  leftOut: " left out",
  leftOutHelp: "Cut off by the end of the recording, or primed: in no mean.",
  ranks: {
    rank: "Rank",
    problem: "Problem",
    steps: "Steps",
    step: { title: "Step", help: "Mean over the complete steps." },
    computation: {
      title: "Computation",
      help: "Kernels that are not communication; operators without a device.",
    },
    communication: { title: "Communication, total", help: "Kernels, and gloo's work on the host." },
    overlap: { title: "Overlap", help: "Both at once." },
    exposed: { title: "Exposed communication", help: "Communication that no computation hides." },
    copy: { title: "Exposed copies", help: "Copies and fills beside these." },
    idle: { title: "Idle", help: "The rest of the step." },
    transferring: {
      title: "Transfer time",
      help: "Of the communication calls: the time of the rank that comes last.",
    },
    synchronizing: {
      title: "Waiting",
      help: "Of the communication calls: waiting for the last rank to come.",
    },
    last: {
      title: "Times last",
      help: "In how many collectives it was among the last, for whom the others waited.",
    },
    caused: { title: "Delay caused", help: "How long each other rank has waited for it, in all." },
    clock: {
      title: "Clock",
      help: "How far its clock is ahead of the lowest rank's, by the ends of the collectives that they have in common.",
    },
    clockBound: { title: "± Clock", help: "95 % of the ends of these collectives agree to this." },
  },
  collectives: {
    kind: "Collective",
    group: { title: "Group", help: "The process group and what it is for." },
    members: "Members",
    bytes: { title: "Bytes", help: "Of one call on one rank." },
    calls: "Calls",
    longest: {
      title: "Longest",
      help: "The call that took longest, of all ranks; the link shows it in its rank's timeline.",
    },
    ranks: "Ranks",
    total: { title: "Total", help: "Over all ranks." },
    mean: { title: "Mean", help: "Of one call on one rank, waiting included." },
    transfer: {
      title: "Transfer",
      help: "Of one call: what the last rank to come takes. Only where the same call is known on several ranks.",
    },
    synchronizing: { title: "Waiting", help: "Of one call: what it takes longer, on average." },
    algorithm: {
      title: "Algorithm",
      help: "Bytes by the transfer's time; where that is not known, by the mean, and so too little.",
    },
    bus: { title: "Bus", help: "What goes over each link, as the NCCL tests count it." },
  },
  steps: {
    rank: "Rank",
    step: "Step",
    duration: { title: "Duration", help: "The step's window; the link shows it in the rank's timeline." },
  },
};

/** The advice of all ranks together; what is not here it has in common with that of one rank. */
export const rankFindings = {
  title: "Advice",
  titleNote: (findings: number, link: (text: string) => ComponentChildren) => (
    <>
      {plural(findings, "issue")} of all ranks together; each rank has {link("its own")}
    </>
  ),
  symptoms: "Shows as",
  ofStep: (time: string) => `${time} of a mean step`,
  ranks: (n: number) => (n === 1 ? "Rank" : `${count(n)} ranks`),
  rank: (rank: number) => `rank ${rank}`,
};
