// English texts of the segments of a memory snapshot.
import type { RefusedAllocation, SegmentPiece } from "../../../api/types";

export const memorySegments = {
  title: "Segments of the allocator",
  when: "when the memory snapshot was taken",
  free: "Free within segments",
  freeHelp: "Reserved from the device, but no block in use: the allocator can give it to tensors that fit.",
  shareOf: (share: string, reserved: string) => `${share} of ${reserved} reserved`,
  largest: "Largest free block",
  largestHelp: "No allocation that is larger fits without more memory from the device.",
  blocks: (count: string) => `of ${count} free blocks`,
  empty: "In empty segments",
  emptyHelp: "Emptying the cache returns this to the device; the rest of what is free stays.",
  refused: "Allocations that failed",
  verdicts: {
    fits: (size: string, largest: string) =>
      `${size} were refused. They would fit now: the largest free block has ${largest}.`,
    in_pieces: (size: string, free: string, largest: string, missing: string) =>
      `${size} were refused. ${free} are free for this size, but in pieces of up to ${largest}: ${missing} more in one place would do.`,
    full: (size: string, free: string, largest: string, missing: string) =>
      `${size} were refused. Only ${free} are free for this size, in pieces of up to ${largest}: ${missing} more in one place would do.`,
  } satisfies Record<RefusedAllocation["verdict"], (...texts: string[]) => string>,
  left: (left: string) => `The device had ${left} left at that time.`,
  leftEnough: (left: string) =>
    `The device had ${left} left at that time, which is enough: a memory limit of the process can refuse it nevertheless.`,
  segment: { title: "Segment", help: "Its number among those of all devices." },
  pool: {
    title: "Pool",
    help: "Small segments serve requests up to 1 MiB. A number is that of a graph's own pool.",
  },
  stream: "Stream",
  picture: {
    title: "By address",
    help: "As long as the segment, against the largest one. Arrow keys go from piece to piece.",
  },
  size: { title: "Size", help: "In use, waiting and free together." },
  inUse: { title: "In use", help: "Blocks that the program has not released." },
  pending: { title: "Waiting", help: "Released by the program, but a stream may still use it." },
  freeBytes: { title: "Free", help: "Blocks that can serve the next allocations, in all pieces." },
  largestFree: "Largest free",
  states: { in_use: "in use", pending: "released, waits for a stream", free: "free" } satisfies Record<
    SegmentPiece["state"],
    string
  >,
  bar: (segment: number, used: string, free: string) => `Segment ${segment}: ${used} in use, ${free} free`,
  at: (offset: string) => `at ${offset}`,
  count: (blocks: string) => `${blocks} blocks`,
  joined: (free: string) => `${free} of it free`,
  point: "Point at a piece, or go through a bar with the arrow keys.",
  more: (left: number) => `${left} more segments have less free, or no block in use.`,
};
