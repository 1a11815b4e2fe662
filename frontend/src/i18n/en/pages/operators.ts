// English texts of the operators page.
import type { OperatorRow, Options } from "../../../api/types";
import { count } from "../../count";

type Group = NonNullable<Options["operators"]["group"]>;

/** `without`: why the trace has none of it. */
const groups: Record<Group, { label: string; title: string; without: string; row: string }> = {
  name: {
    label: "Name",
    title: "By name",
    without: "",
    row: "A row opens its calls, the typical one first.",
  },
  shapes: {
    label: "Name and shapes",
    title: "By name and input shapes",
    without: "The trace was recorded without record_shapes=True.",
    row: "A row opens its calls, the typical one first.",
  },
  stack: {
    label: "Call stack",
    title: "By name and the Python frames around it",
    without: "The trace was recorded without with_stack=True.",
    row: "A row opens its calls and its call stack.",
  },
  module: {
    label: "Module",
    title: "By name and the class of the innermost nn.Module around it",
    without: "The trace has no modules: record with with_stack=True.",
    row: "A row opens its calls, the typical one first.",
  },
  category: {
    label: "Category",
    title: "By kind of work: gemm, convolution, attention, …",
    without: "",
    row: "A row shows its operators.",
  },
};

const categories: Record<OperatorRow["category"], string> = {
  gemm: "gemm",
  convolution: "convolution",
  attention: "attention",
  normalization: "normalization",
  recurrent: "recurrent",
  pooling: "pooling",
  softmax_loss: "softmax_loss",
  elementwise: "elementwise",
  reduction: "reduction",
  indexing: "indexing",
  random: "random",
  copy: "copy",
  view: "view",
  allocation: "allocation",
  optimizer: "optimizer",
  communication: "communication",
  compiled: "compiled",
  autograd: "autograd",
  other: "other",
};

export const operators = {
  groupBy: "Group by",
  groups,
  categories,
  operator: { noun: "operator", nouns: "operators" },
  category: { noun: "category", nouns: "categories" },
  others: (rows: number, device: string) => `${count(rows)} others: ${device}`,
  othersOnHost: (rows: number, host: string) => `${count(rows)} others: ${host} on the host`,
  othersHelp: "The totals of the rows leave these out. The filter's first word is searched in all.",
  unlinked: (time: string, share: string) => `${time} (${share}) without a parent operator`,
  unlinkedHelp: (exact: string) =>
    `Device time of activities that no operator launched: ${exact}. It has a row of its own.`,
  replayed: (operator: string | null, launcher: string) =>
    operator === null ? launcher : `${operator} · ${launcher}`,
  nobody: "no parent operator",
  nobodyHelp: "Device activities without a launch, or with one outside of all operators. Show them.",
  toKernels: (name: string) => `${name}\nShow its kernels`,
  noFrames: "no Python frames around",
  itsKernels: "Its kernels",
  takeAway: {
    button: "Take away",
    help: "Download its longest call as a script: it runs on any device with torch alone, is timed and checked",
  },
  showCalls: "Show them, one by one",
  columns: {
    name: { title: "Operator" },
    category: { title: "Category", help: "The kind of work, by the name." },
    inputShapes: { title: "Input shapes" },
    module: {
      title: "Module",
      help: "The class of the innermost nn.Module; of backward operators that of the forward one.",
    },
    stack: { title: "Called from", help: "The innermost frame that is not torch's own; a row shows all." },
    deviceShare: { title: "Of device time", help: "Of all device self time." },
    hostShare: { title: "Of host time", help: "Of all host self time." },
    deviceSelf: { title: "Device self", help: "Device activities that the operator itself launched." },
    deviceTotal: { title: "Device total", help: "Those of the operators that it called, too." },
    hostSelf: { title: "Host self", help: "Without what the operator called." },
    hostTotal: { title: "Host total", help: "With what it called." },
    deviceMean: { title: "Device a call", help: "Device total by the number of calls." },
    hostMean: { title: "Host a call", help: "Host total by the number of calls." },
    deviceTotalShare: { title: "Device total %", help: "Device total as a part of all device time." },
    hostTotalShare: { title: "Host total %", help: "Host total as a part of all host self time." },
    deviceMemorySelf: {
      title: "Device memory self",
      help: "Memory of the devices that it allocates less what it releases, without what it called.",
    },
    deviceMemory: { title: "Device memory", help: "The same with what it called." },
    hostMemorySelf: {
      title: "Host memory self",
      help: "Memory of the host that it allocates less what it releases, without what it called.",
    },
    hostMemory: { title: "Host memory", help: "The same with what it called." },
    calls: { title: "Calls", help: "The link shows them, one by one." },
    kernels: { title: "Kernels", help: "Device activities that the operator itself launched." },
    launch: {
      title: "Launch time",
      help: "The host's time in the calls of the device's runtime that the operator itself made.",
    },
    launches: { title: "Launches", help: "Calls of the device's runtime that the operator itself made." },
    backwardDevice: { title: "Backward", help: "Device time of the backward operators of its calls." },
    forward: { title: "Gradient of", help: "The forward operator whose gradient it computes." },
  },
};
