// The color of each class of time, in the order in which pages show them. Classes of the device, of
// operators, launches and the loader have their category's; theme.css has the values of the others.
import type { ClassTime } from "../api/types";

export type ClassName = ClassTime["name"];

const PROPERTIES: Readonly<Record<ClassName, string>> = {
  kernel: "kernel",
  exposed_copy: "memcpy",
  exposed_fill: "memset",
  exposed_communication: "communication",
  unknown: "unknown",
  synchronization: "synchronization",
  blocking_copy: "blocking-copy",
  device_memory: "device-memory",
  file_or_lock: "file-or-lock",
  other_rank: "other-rank",
  input: "dataloader",
  python: "python",
  dispatch: "cpu",
  launch_call: "runtime",
  garbage_collection: "garbage-collection",
  launch_latency: "launch-latency",
  queued_gap: "queued-gap",
  before_recording: "before-recording",
  unknown_launch: "unknown-launch",
  profiler: "profiler",
  clock_doubt: "clock-doubt",
  unattributed: "other",
};

export const CLASS_NAMES = Object.keys(PROPERTIES) as ClassName[];

/** The CSS color of a class. */
export function classColor(name: ClassName): string {
  return `var(--${PROPERTIES[name]})`;
}
