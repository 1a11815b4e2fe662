import type { ComponentChildren } from "preact";
import type { EventRecord } from "../../api/types";

const tables: Record<EventRecord["table"], string> = {
  ops: "operator or annotation",
  frames: "Python frame",
  launches: "launch",
  kernels: "device activity",
  memory: "memory event",
};

export const record = {
  oneEvent: "One event",
  close: "Close",
  closeHelp: "Close (Esc)",
  where: (table: EventRecord["table"], row: number) => `${tables[table]}, row ${row} of ${table}`,
  /** What is known of an event, by its keys for tests. */
  facts: {
    thread: "Where",
    start: "Start",
    duration: "Duration",
    self: "Self",
    elapsed: "Elapsed on the device",
    step: "Step",
    operator: "Operator",
    launch: "Launch",
    parent: "Inside of",
    evidence: "Evidence",
  },
  inferred: (evidence: string) => `inferred: ${evidence}`,
  howKnown: "How it is known",
  toTimeline: "Show on the timeline",
  record: "Record",
  asIn: (file: string) => `as it is in ${file}`,
  noRecord: (operator: ComponentChildren) => <>This activity was inferred: no file tells of it. What it was inferred from is its operator{operator && <>, {operator}</>}.</>,
  cut: "The record is longer: this is its beginning.",
};
