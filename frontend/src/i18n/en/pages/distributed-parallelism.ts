// English texts of the page *Ranks*'s tables of process groups, nodes and stages.
import { count } from "../../count";

export const parallelism = {
  tables: { axes: "Axes", nodes: "Nodes", stages: "Pipeline stages", experts: "Experts", groups: "Groups" },
  nouns: {
    axes: { noun: "axis", nouns: "axes" },
    nodes: { noun: "node", nouns: "nodes" },
    stages: { noun: "stage", nouns: "stages" },
    experts: { noun: "group", nouns: "groups" },
    groups: { noun: "group", nouns: "groups" },
  },
  someGroups: (listed: number, all: number) => `the ${count(listed)} of ${count(all)} with the most time`,
  noGroups:
    "The recordings name no process groups, and no collective: torch 2.2 and later write both. Without them communication cannot be divided by axis.",
  axis: {
    title: "Axis",
    help: "What the process groups divide: data, tensor, pipeline, expert, context; else their size and stride.",
  },
  evidence: { title: "Found by", help: "What shows the purpose of these groups." },
  evidences: {
    description: "description",
    ranks: "all ranks",
    collectives: "its calls",
    structure: "size and stride",
    none: "no group recorded",
  },
  groups: { title: "Groups", help: "Process groups with different ranks." },
  group: { title: "Group", help: "The process group's name and description." },
  size: { title: "Size", help: "Ranks in a group." },
  ranks: { title: "Ranks", help: "0-24:8 is every eighth rank from 0 to 24." },
  members: { title: "Recorded", help: "Ranks of it with a trace here." },
  placement: { title: "Nodes", help: "Whether all ranks of a group are on one node, by host names." },
  placements: { node: "within a node", across: "across nodes", unknown: "unknown" },
  exposed: {
    title: "Exposed",
    help: "Per rank and step: communication that no computation hides. Of calls at the same time, the one that began first has it.",
  },
  share: { title: "Share of exposed", help: "Of the exposed communication of all axes." },
  calls: { title: "Calls", help: "Per rank and step, the time of the calls: transfer and waiting." },
  count: { title: "Number", help: "Calls of all ranks in these steps." },
  transferring: {
    title: "Transfer",
    help: "Per rank and step, of the calls: the time of the rank that comes last.",
  },
  synchronizing: {
    title: "Waiting",
    help: "Per rank and step, of the calls: waiting for the last rank to come.",
  },
  bytes: { title: "Bytes", help: "Per rank and step, as the NCCL tests count them." },
  bus: { title: "Bus", help: "What goes over each link while it transfers, as the NCCL tests count it." },
  kinds: "Collectives",
  slowest: { title: "Slowest group", help: "The ranks of the group with the longest transfers." },
  slowestTime: { title: "Its transfer", help: "Per member and step." },
  median: { title: "Median group", help: "The transfer of the median group, per member and step." },
  node: "Node",
  nodeRanks: "Ranks",
  step: "Step",
  computation: "Computation",
  copy: "Exposed copies",
  idle: "Idle",
  within: { title: "Within nodes", help: "Exposed communication in groups whose ranks are all on one node." },
  across: { title: "Across nodes", help: "Exposed communication in groups with ranks on several nodes." },
  longest: { title: "Longest step", help: "The rank of this node whose mean step is longest." },
  ofRank: (rank: number, time: string) => `${time}, rank ${rank}`,
  stage: { title: "Stage", help: "Its place in the pipeline; the first one computes first." },
  bubble: { title: "Bubble", help: "Per rank and step: exposed messages, and idle time next to one." },
  bubbleShare: { title: "Bubble share", help: "The bubble, of the step." },
  messages: {
    title: "Exposed messages",
    help: "Sends and receives that no computation hides, transfers included.",
  },
  messageIdle: {
    title: "Idle at messages",
    help: "Idle time within the step that begins or ends with a message.",
  },
  messageCount: { title: "Messages", help: "Sends and receives per rank and step." },
  order: { title: "Order by", help: "Whether the ranks at both ends of messages are recorded." },
  orders: { messages: "messages", ranks: "ranks" },
  imbalance: {
    title: "Imbalance",
    help: "What the rank with the most bytes receives in a step, against the mean rank; 1 is even.",
  },
  busiest: { title: "Busiest rank", help: "The rank that received most in all." },
  received: { title: "Received", help: "Per rank and step, in dispatches." },
  most: { title: "Most", help: "What the rank with the most bytes receives, per step." },
  workImbalance: {
    title: "Work imbalance",
    help: "The longest computation between dispatch and combine in a step, against the mean rank's.",
  },
  work: { title: "Expert work", help: "Per rank and step: computation between dispatch and combine." },
  longestWork: { title: "Longest", help: "Of the rank that computes longest, per step." },
  exchanges: {
    title: "Dispatches",
    help: "Per rank and step; all-to-alls if none is reversed by the next one.",
  },
  steps: "Steps",
  read: {
    local: (traces: string, size: string, time: string, rate: string, readers: string) =>
      `This machine read ${traces}, ${size}, in ${time} (${rate}), ${readers} at a time.`,
    dask: (traces: string, size: string, time: string, rate: string, readers: string) =>
      `A Dask cluster read ${traces}, ${size}, in ${time} (${rate}), ${readers} at a time.`,
    traces: (n: number) => (n === 1 ? "a trace" : `${count(n)} traces`),
    here: (time: string, readers: number) =>
      `This machine reads ${readers} at a time: it would take about ${time}, with processors as fast.`,
    switch: "A Dask cluster reads more at a time: TB_PRIVATEUSE1_ENGINE=dask://HOST:PORT.",
  },
};
