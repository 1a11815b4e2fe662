import type { Progress } from "../../api/types";
import { count } from "../count";

const phases: Record<Progress["phase"], string> = {
  waiting: "Waiting for its turn, or for another server that reads it",
  reading: "Reading the trace",
  inferring: "Putting the timeline together",
  storing: "Storing the result",
};

export const status = {
  phases,
  cancelled: "Reading was cancelled",
  cancelledWhy: "The trace was not read to its end, so there is nothing to show of it.",
  readAgain: "Read it again",
  loading: "Loading…",
  bytesRead: "Bytes read",
  ranks: (done: number, all: number) => `${count(done)} of ${count(all)} ranks`,
  bytes: (done: string, all: string) => `${done} of ${all}`,
  events: (events: number) => `${count(events)} events`,
  soFar: (seconds: number) => `${seconds} s so far`,
  left: (seconds: number) => `about ${count(seconds)} s left`,
  cancel: "Cancel",
  retry: "Retry",
  firstRun: "Show the first run",
  noFindings: "None: nothing had to be repaired or left out.",
};
