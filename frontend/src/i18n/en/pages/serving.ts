// English texts of serving, a section of the overview.
import { plural } from "../../count";

const figures: Readonly<Record<string, string>> = {
  requests: "Requests",
  tokens: "Tokens",
  context: "Context",
  device_ns: "Device time",
  bytes_per_s: "Bandwidth",
  generations: "Time by request",
};

export const serving = {
  title: "Serving",
  note: (iterations: number) => `${plural(iterations, "iteration", "iterations")} by phase`,
  repeated: (iterations: number) =>
    `${plural(iterations, "iteration computes", "iterations compute")} all earlier tokens again: the loop has no cache of keys and values.`,
  kinds: { prefill: "prefill", decode: "decode", mixed: "mixed", unknown: "unknown" },
  founds: { annotation: "annotation", shape: "shapes", repetition: "repetition" },
  working: (kind: string) => `${kind}, device works`,
  idle: "device idle",
  legend: "What the iterations go to",
  known: (share: string) => `The bytes are known of ${share} of the kernels' time.`,
  iteration: { noun: "iteration", nouns: "iterations" },
  phase: {
    kind: "Phase",
    iterations: "Iterations",
    requests: { title: "Requests", help: "Sequences of an iteration, on average." },
    tokens: "Tokens",
    median: { title: "Median", help: "The time from the start of an iteration to that of the next one." },
    p95: { title: "95th percentile", help: "95 % of the iterations take no longer." },
    rate: { title: "Tokens/s", help: "Tokens that the phase computes, by its time." },
    device: { title: "Device busy", help: "The share of the phase's time in which a device works." },
    exposed: {
      title: "Device idle",
      help: "The share of the phase's time in which no device works: it waits for the host, or between queued kernels.",
    },
    bandwidth: {
      title: "Bandwidth",
      help: "Of the kernels whose bytes are known; only where these take half of the kernels' time.",
    },
    only: {
      title: "Only this phase",
      help: "The page with the figures of this phase alone. The window at the top leads back.",
      overview: "Account",
      roofline: "Roofline",
      diff: "Difference",
    },
  },
  columns: {
    start: {
      title: "Start",
      help: "Since the recording's start; the link shows the iteration in the timeline.",
    },
    kind: { title: "Phase", help: "Decode: one token of each sequence." },
    requests: { title: "Requests" },
    tokens: { title: "Tokens", help: "Those that the iteration computes, of all requests." },
    context: { title: "Context", help: "Tokens that attention reads, of all requests." },
    time: {
      title: "Time",
      help: "To the start of the next iteration; of the last one, to the end of its work.",
    },
    token: { title: "By token", help: "The time of the iteration by its tokens." },
    device: { title: "Device time", help: "In which what the iteration launched runs." },
    exposed: { title: "Device idle", help: "In which no device works: the host is exposed." },
    found: { title: "Found by", help: "What shows the iteration and its phase." },
    name: { title: "Annotation" },
  },
  generation: {
    title: (generations: number) => plural(generations, "generation", "generations"),
    sequences: "Sequences",
    prompt: { title: "Prompt", help: "Tokens of each sequence." },
    tokens: { title: "New tokens", help: "Of each sequence." },
    first: { title: "First token", help: "The time of the iteration that reads the prompt." },
    later: { title: "Later tokens", help: "The mean time of the iterations behind it." },
    total: "Total",
  },
  missing: {
    title: (lines: number) => `What is not recorded: ${plural(lines, "figure", "figures")}`,
    figures,
    line: (figure: string, iterations: number, reason: string) =>
      `${figure}, of ${plural(iterations, "iteration")}: ${reason}`,
  },
};
