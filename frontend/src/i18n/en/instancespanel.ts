import { plural } from "../count";

export const instancespanel = {
  callsOf: (name: string) => `Calls of ${name}`,
  activitiesOf: (name: string) => `Activities of ${name}`,
  order: "Order",
  longest: "Longest",
  first: "First",
  close: "Close",
  call: { noun: "call", nouns: "calls" },
  activity: { noun: "activity", nouns: "activities" },
  ofCalls: (calls: number) => `of ${plural(calls, "call")}`,
  durationsOf: (name: string) => `Durations of ${name}`,
  columns: {
    start: { title: "Start", help: "Since the recording's start; the link shows it in the timeline." },
    duration: { title: "Duration" },
    bound: { title: "Bound", help: "How far off it may be." },
    row: { title: "Row", help: "In the trace's table; the link opens its record." },
  },
  toTimeline: "Show it in the timeline",
  toRecord: "Open its record",
};
