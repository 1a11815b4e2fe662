import { count } from "../count";
import type { timelineranks as english } from "../en/timelineranks";

export const timelineranks: typeof english = {
  noRank: (rank) => `没有 rank ${rank}。`,
  reference: "其他 rank 以它的时钟为准",
  notAligned: "时钟未对齐：从它自己的起点开始",
  aligned: (bound, ties) => `已按 ${count(ties)} 次集合通信对齐${bound && ` ${bound}`}`,
  title: "上下并列显示多个 rank",
  shown: (shown, all) => `${shown} / ${count(all)} 个 rank`,
  add: "添加 rank",
  reading: "正在读取所有 rank…",
  readingOf: (done, all) => `正在读取所有 rank：${done} / ${all}…`,
  added: (ranks) => `已添加 ${ranks}：其他 rank 在等待它们，或它们计算时间最长。`,
  noFurther: "没有更多的 rank。",
  addSlowest: "添加最慢的",
  only: (rank) => `只看 rank ${rank}`,
  find: "查找 rank",
  findHint: "rank 或主机",
  narrow: (others) => `另外 ${others} 个：输入以缩小范围。`,
  nothing: "没有匹配项。",
  atMost: (most) => `最多 ${most} 个 rank。`,
  failed: (rank, why) => `Rank ${rank}：${why}`,
};
