// English texts of the inspector: one event and what it belongs to.
import type { ComponentChildren } from "preact";
import type { EventRecord, Item } from "../../../api/types";
import { count, plural } from "../../count";

type Table = Item["table"] | EventRecord["table"];

/** What an event is, by its table. */
const tables: Record<Table, string> = {
  ops: "Operator",
  launches: "Runtime call",
  frames: "Python frame",
  kernels: "Device activity",
  steps: "Step",
  device_annotations: "Device annotation",
  memory: "Memory event",
};

export const inspector = {
  tables,
  /** Of an operator's table, what is none: `record_function`. */
  annotation: "Annotation",
  event: "Event",
  kindOf: (kind: string, rank: number | null) => (rank === null ? kind : `${kind}, rank ${rank}`),
  /** What is known of an event, by its keys for tests. */
  nodeOf: (node: number, nodes: number) => `${count(node)} of ${count(nodes)}`,
  nodeHelp: "Its place, by start, among the activities of one launch, such as a graph's replay",
  facts: {
    duration: "Duration",
    start: "Start",
    shift: "Of it, shared by all starts",
    clock: "Wall time",
    thread: "Where",
    step: "Step",
    evidence: "Timing source",
    self: "Self",
    elapsed: "Between events",
    shapes: "Shapes",
    dtypes: "Types",
    function: "Function",
    operator: "Launched by",
    launch: "Launch",
    node: "Graph node",
    forward: "Forward",
    backward: "Backward",
    parents: "Parents",
    parent: "Parent",
  },
  launches: (kernels: string) => `Launches ${kernels}`,
  boundNotKnown: "bound not known",
  inferred: (evidence: string) => `inferred: ${evidence}`,
  howKnown: "Timing method",
  onDevice: (time: string) => `${time} on the device`,
  onDeviceWithin: (time: string, bound: string) => `${time} ${bound} on the device`,
  ofForward: "of the forward operator: the backward pass runs no Python",
  before: (time: string) => `${time} before`,
  toTimeline: "Show on timeline",
  toKernels: "All calls of this kernel",
  toOperators: "All calls of this operator",
  toAll: "All of this name",
  toModule: (module: string) => `Module ${module}`,
  toCollectives: "All collectives of this kind",
  toMemory: (events: number) => plural(events, "memory event"),
  calls: (calls: string) => `${calls} ×`,
  fewer: "fewer",
  more: (others: string) => `${others} more`,
  parts: {
    linked: "Launch, parents and children",
    frames: "Python stack",
    captured: "Captured in",
    namesakes: "Calls of this name",
    instances: "Distribution",
    record: "Raw record",
    sites: "Called from",
    source: "Source",
    work: "Rates and roof",
    counters: "Counters",
  },
  countersNote: "while the calls run",
  asIn: (file: string) => `As it is in ${file}.`,
  noRecord: (operator: ComponentChildren) => (
    <>
      This activity was inferred, so no file has a record of it. Its operator has one
      {operator && <>, {operator}</>}.
    </>
  ),
  cut: "The record is longer: this is its beginning.",
  /** Where a call lies among those of its name. */
  only: "The only one of this name.",
  longerThan: (share: string, calls: number) => `Longer than ${share} of ${plural(calls, "call")}.`,
  shortest: (calls: number) => `None of ${plural(calls, "call")} is shorter.`,
  median: "Median:",
  toTypical: "Open the call of median duration",
};

/** The calls behind a row of a table. */
export const instancesPanel = {
  callsOf: (name: string) => `Calls of ${name}`,
  activitiesOf: (name: string) => `Activities of ${name}`,
  typical: "Typical call",
  typicalHelp: "The one of median duration",
  chosen: "Selected call",
  back: "Back to the typical one",
  order: "Order",
  orders: { typical: "Typical", duration: "Longest", time: "First" },
  call: { noun: "call", nouns: "calls" },
  activity: { noun: "activity", nouns: "activities" },
  kindOf: (kind: string, calls: number) => `${kind} · ${plural(calls, "call")}`,
  kernel: "Kernel",
  operator: "Operator",
  ofCalls: (calls: number) => `of ${plural(calls, "call")}`,
  durationsOf: (name: string) => `Durations of ${name}`,
  columns: {
    start: { title: "Start", help: "Since the recording's start; the link shows it in the timeline." },
    duration: { title: "Duration" },
    bound: { title: "Bound", help: "How far off it may be." },
    row: { title: "Row", help: "In the trace's table." },
  },
  toTimeline: "Show it in the timeline",
};
