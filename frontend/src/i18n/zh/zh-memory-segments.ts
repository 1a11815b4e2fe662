// Chinese texts of en/pages/memory-segments.
import type * as english from "../en/pages/memory-segments";
import type { Translation } from "../translation";

export const memorySegments: Translation<typeof english.memorySegments> = {
  title: "分配器的段",
  when: "内存快照生成时",
  free: "段内空闲",
  freeHelp: "已向设备保留但没有块在使用：分配器可以把它分给放得下的张量。",
  shareOf: (share, reserved) => `占保留 ${reserved} 的 ${share}`,
  largest: "最大空闲块",
  largestHelp: "更大的分配必须再向设备申请内存。",
  blocks: (count) => `共 ${count} 个空闲块`,
  empty: "在空段中",
  emptyHelp: "清空缓存会把这部分还给设备；其余空闲内存仍被保留。",
  refused: "失败的分配",
  verdicts: {
    fits: (size, largest) => `请求 ${size} 被拒绝。现在放得下：最大空闲块有 ${largest}。`,
    in_pieces: (size, free, largest, missing) =>
      `请求 ${size} 被拒绝。可用于该大小的空闲内存有 ${free}，但每块最多 ${largest}：同一处还差 ${missing}。`,
    full: (size, free, largest, missing) =>
      `请求 ${size} 被拒绝。可用于该大小的空闲内存只有 ${free}，每块最多 ${largest}：同一处还差 ${missing}。`,
  },
  left: (left) => `当时设备剩余 ${left}。`,
  leftEnough: (left) => `当时设备剩余 ${left}，本来足够：进程的内存上限仍可能使请求被拒绝。`,
  segment: { title: "段", help: "在所有设备的段中的编号。" },
  pool: { title: "内存池", help: "small 段服务不超过 1 MiB 的请求。数字表示某个图自己的内存池。" },
  stream: "流",
  picture: { title: "按地址", help: "长度与最大的段成比例。用方向键逐块移动。" },
  size: { title: "大小", help: "使用中、等待和空闲之和。" },
  inUse: { title: "使用中", help: "程序尚未释放的块。" },
  pending: { title: "等待", help: "程序已释放，但某个流可能仍在使用。" },
  freeBytes: { title: "空闲", help: "可用于后续分配的块，包括所有碎块。" },
  largestFree: "最大空闲块",
  states: { in_use: "使用中", pending: "已释放，等待流", free: "空闲" },
  bar: (segment, used, free) => `段 ${segment}：使用中 ${used}，空闲 ${free}`,
  at: (offset) => `位于 ${offset}`,
  count: (blocks) => `${blocks} 个块`,
  joined: (free) => `其中空闲 ${free}`,
  point: "指向某一块，或用方向键在条中移动。",
  more: (left) => `另有 ${left} 个段的空闲更少，或没有使用中的块。`,
};
