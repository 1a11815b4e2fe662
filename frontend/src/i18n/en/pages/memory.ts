// English texts of the memory page.
import type { AliveChange, AliveModule, AliveRow, Allocation, MemoryCategory } from "../../../api/types";
import { count, plural } from "../../count";

export const memory = {
  showWhole: "Show the whole recording of the first device",
  device: "Device",
  deviceHelp: (label: string, events: number) => `${label}: ${count(events)} memory events`,
  step: (step: number | null) => `step ${step}`,
  allRanks: "Memory of all ranks",
  segments: "Segments and what is free in them",
  range: (start: string, end: string) => `${start} to ${end}`,
  drag: "Drag in the chart to select a part.",
  shown: "Shown",
  total: "Total",
  byCategory: "By category",
  byCategoryHelp:
    "Parameters, gradients, optimizer state, activations, inputs, temporaries: by rules, with the rest apart",
  needsAddresses: "Needs totals and addresses, which the trace does not have.",
  axis: "Axis",
  fromZero: "From 0",
  fit: "Fit",
  fitHelp: "The axis starts at the least that is allocated, and may leave out what is reserved.",
  wholeFromZero: "Parts of a whole start at 0.",
  change: "Change",
  allocated: "Allocated",
  reserved: "Reserved",
  changeChart: (device: string) => `Change of ${device} memory since the recording's start`,
  chart: (device: string) => `${device} memory over time`,
  showAll: "Show the whole recording again",
  peakAllocated: "Peak allocated",
  peakAllocatedHere: "Peak allocated here",
  peakNote: (at: string) => `at ${at}`,
  peakNoteOf: (at: string, share: string, capacity: string) => `at ${at}, ${share} of ${capacity}`,
  peakAllocatedHelp: "Greatest Total Allocated that the allocator reported.",
  peakReserved: "Peak reserved",
  peakReservedHere: "Peak reserved here",
  peakReservedNote: (share: string) => `${share} in use at the peak`,
  peakReservedHelp: "What the allocator held from the device, used or not.",
  atStart: "At the start",
  beforeRecording: "Before the recording",
  ofPart: "of the part",
  parametersAndTheLike: "allocated before the recording",
  atStartHelp: "Allocated when the recording, or the selected part of it, starts.",
  atEnd: "At the end",
  asAtStart: "as at the start",
  sinceStart: (change: string) => `${change} since the start`,
  atEndHelp: "Allocated at its end.",
  allocatedInAll: "Total allocated",
  events: (events: number) => plural(events, "memory event"),
  allocatedInAllHelp: "Sum of all allocations.",
  releasedInAll: "Total freed",
  asMuch: "as much as allocated",
  inAll: (change: string) => `${change} in all`,
  releasedInAllHelp: "Sum of all releases that were reported.",
  legend: "What the chart shows",
  changeSinceStart: "Change since the recording's start",
  reservedByAllocator: "Reserved by the allocator",
  aboveChart: "(above the chart)",
  startOfStep: "start of a step",
  linesRecord: "These lines record them; shapes and stacks say what an allocation was for:",
};

type Told = { label: string; title: string };

export const memoryCategories: Record<MemoryCategory["category"], Told> = {
  parameters: { label: "Parameters", title: "Parameters and buffers of modules." },
  optimizer_state: {
    label: "Optimizer state",
    title: "Allocated in the optimizer's step and alive after it.",
  },
  gradients: {
    label: "Gradients",
    title: "Of parameters: allocated in the backward pass and alive after it.",
  },
  activations: {
    label: "Activations",
    title: "Allocated in the forward pass and alive after their operator.",
  },
  inputs: { label: "Inputs", title: "From the data loader, or made before the forward pass begins." },
  temporaries: {
    label: "Temporaries",
    title: "Gone with the operator, the backward pass or the optimizer's step that they were allocated in.",
  },
  unknown: { label: "Unknown", title: "No rule says what this is for." },
};

/** `short` stands where an operator would. */
type Fate = { label: string; short: string; title: string };

const fates: Record<Allocation["fate"], Fate> = {
  released: { label: "freed", short: "", title: "" },
  held: {
    label: "not freed",
    short: "not freed within the recording",
    title: "Not freed within the recording. That alone is not a leak.",
  },
  unreported: {
    label: "unreported",
    short: "its address was allocated again",
    title: "Its address was allocated again: it was freed, but that was not reported.",
  },
  unknown: {
    label: "unknown",
    short: "the trace has no addresses",
    title: "The trace has no addresses, so it is not known when it was freed.",
  },
  earlier: {
    label: "earlier",
    short: "allocated before the recording",
    title: "Allocated before the recording.",
  },
  unseen: {
    label: "unseen",
    short: "released here",
    title: "Released here, but its allocation was not reported.",
  },
};

const sources: Record<AliveRow["source"], { label: string; title: string }> = {
  operator: {
    label: "outside of all operators",
    title: "Allocated in the recording, while no operator ran.",
  },
  earlier: {
    label: "allocated before the recording",
    title: "What was alive at the start and was not released until the peak: parameters and what else lasts.",
  },
  unexplained: {
    label: "not explained by events",
    title:
      "The total that the allocator reported, less all of the above. Negative if releases were not reported.",
  },
};

const phases: Record<AliveModule["phase"], Told> = {
  forward: { label: "forward", title: "Allocated in the forward pass, or in the call of a module." },
  backward: { label: "backward", title: "Allocated in the backward pass." },
  optimizer: { label: "optimizer", title: "Allocated in the optimizer's step or its reset." },
  outside: { label: "outside", title: "Allocated in none of these." },
  earlier: { label: "before the recording", title: sources.earlier.title },
  unexplained: { label: "not explained by events", title: sources.unexplained.title },
};

export const memoryTables = {
  table: "Table",
  alive: "Live at peak",
  aliveHelp: "The operators that allocated what was live at the peak",
  byModule: "Module",
  byModuleHelp: "The modules and phases that allocated what was live at the peak",
  byCategory: "Category",
  byCategoryHelp: "Parameters, gradients, optimizer state, activations, inputs, temporaries",
  remaining: "Not freed",
  remainingHelp: "What the shown part allocated and was still alive at its end",
  remainingBy: "Group by",
  remainingFunctions: "Function",
  remainingModules: "Module",
  noFunction: "no function",
  byOperator: "Operator",
  allocations: (allocations: number) => `Allocations ${count(allocations)}`,
  byStep: "Step",
  byStepHelp: "Growth per step",
  noSteps: "The trace has no steps.",
  nouns: {
    group: { noun: "group", nouns: "groups" },
    module: { noun: "module and phase", nouns: "modules and phases" },
    category: { noun: "category", nouns: "categories" },
    function: { noun: "function", nouns: "functions" },
    remainingModule: { noun: "module", nouns: "modules" },
    operator: { noun: "operator", nouns: "operators" },
    step: { noun: "step", nouns: "steps" },
    allocation: { noun: "allocation", nouns: "allocations" },
  },
  largestOf: (allocations: number) => `the largest of ${count(allocations)}`,
  showMore: "show more",
  fates,
  sources,
  phases,
  noModule: "outside of modules",
  mostlyReleases: "Mostly releases: a tensor's memory goes when Python lets go of it.",
  toTimeline: "Show what ran then in the timeline",
  noFrames: "no Python frames around",
  cutOff: "cut off",
  ofAlive: {
    operator: { title: "Allocated by", help: "The innermost operator that does not only allocate." },
    inputShapes: { title: "Input shapes" },
    share: { title: "Share of peak" },
    size: { title: "Size" },
    allocations: { title: "Allocations" },
  },
  ofModules: {
    module: {
      title: "Module",
      help: "The class of the innermost module; in the backward pass that of the forward operator.",
    },
    phase: { title: "Phase", help: "In which it was allocated." },
    share: { title: "Share of peak" },
    size: { title: "Size" },
    allocations: { title: "Allocations" },
  },
  ofRemaining: {
    function: {
      title: "Function",
      help: "Your function around the allocation, from Python stacks: name (file:line where it begins), or file:line of the call, where stacks have it.",
    },
    module: { title: "Module", help: "The class of the innermost module." },
    operator: { title: "Operator", help: "The operator with most of these bytes." },
    share: { title: "Of the part", help: "Of all that the part allocated and did not release." },
    size: { title: "Size" },
    allocations: { title: "Allocations" },
  },
  ofKinds: {
    category: { title: "Category" },
    atPeak: { title: "At the peak", help: "Live at the peak of all memory." },
    share: { title: "Share of peak" },
    peak: { title: "Own peak", help: "The most of this category at any time." },
    peakAt: { title: "Own peak at" },
    atStart: { title: "At the start" },
    atEnd: { title: "At the end" },
    allocated: { title: "Allocated", help: "Sum of the allocations in the selected part." },
    allocations: { title: "Allocations" },
  },
  ofOperators: {
    operator: { title: "Operator" },
    calls: { title: "Calls" },
    selfAllocated: { title: "Self allocated", help: "By the operator itself." },
    selfAllocations: { title: "Self count", help: "Allocations by the operator itself." },
    selfIncrease: { title: "Self increase", help: "Allocated less released by the operator itself." },
    allocated: { title: "Allocated", help: "With the operators that it called." },
    allocations: { title: "Count", help: "Allocations, with those of the operators that it called." },
    increase: { title: "Increase", help: "Allocated less released, with the operators that it called." },
  },
  ofAllocations: {
    operator: { title: "Allocated by", help: "The innermost operator that does not only allocate." },
    inputShapes: { title: "Input shapes" },
    size: { title: "Size" },
    allocated: {
      title: "Allocated at",
      help: "Since the recording's start; the link shows what ran then in the timeline.",
    },
    freed: { title: "Freed at", help: "Since the recording's start." },
    lifetime: { title: "Lifetime" },
    fate: { title: "Freed", help: "freed, not freed, unreported, earlier, unseen or unknown." },
    category: { title: "Category", help: "What it is for, by rules." },
    stack: { title: "Python", help: "The innermost frame that is not torch's own; all of them on hover." },
  },
  ofSteps: {
    step: { title: "Step" },
    start: { title: "Start", help: "The link shows the step in the timeline." },
    peak: { title: "Peak" },
    atEnd: { title: "At its end" },
    change: { title: "Change", help: "At its end, against the end of the step before." },
    allocated: { title: "Allocated", help: "Sum of the step's allocations." },
    allocations: { title: "Allocations" },
  },
};

const reasons: Record<AliveChange["reason"], { label: string; title: string }> = {
  new: { label: "new", title: "The base never had any of it." },
  larger: { label: "larger blocks", title: "No more blocks at once than ever in the base, but larger ones." },
  more: {
    label: "more at once",
    title: "More of it at once than ever in the base: kept longer, or made more often.",
  },
  late: {
    label: "at another time",
    title: "The base had as much at another time: it is released later here, or the instant lies elsewhere.",
  },
  less: { label: "less", title: "Less than in the base." },
  gone: { label: "gone", title: "Only the base ever had any of it." },
  same: { label: "same", title: "As much as in the base." },
};

/** What is live at one instant against another, on the memory page and in the comparison. */
export const memoryChanges = {
  tab: "Change",
  help: "What is live at the end of the shown part against its start",
  by: "Group by",
  functions: "Function",
  modules: "Module",
  categories: "Category",
  nouns: {
    functions: { noun: "function", nouns: "functions" },
    modules: { noun: "module", nouns: "modules" },
    categories: { noun: "category", nouns: "categories" },
  },
  reasons,
  shown: "Shown",
  perStep: { label: "Allocated per step", title: "By the operators that allocate" },
  atPeak: { label: "Live at peak", title: "At the peak of each of the two" },
  atEnd: { label: "Live at the end", title: "At the end of each of the two" },
  none: "What is live when is known only if both have totals and addresses of the same device.",
  name: {
    title: "Allocated by",
    help: "Your function, the class of module, or the category; else the operator.",
  },
  device: { title: "Device" },
  reason: { title: "Why", help: "How the base compares: new, larger blocks, more at once, at another time." },
  base: { title: "Base", help: "Live at the base's instant." },
  now: { title: "New", help: "Live at the new instant." },
  change: { title: "Change", help: "New less base, at one instant of each: no spread is known." },
  most: { title: "Base's most", help: "The most that the base had at any time." },
  baseBlocks: { title: "Base blocks" },
  blocks: { title: "Blocks" },
};
