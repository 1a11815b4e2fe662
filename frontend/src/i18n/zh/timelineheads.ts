import { spaced } from "../han";
import type { timelineheads as english } from "../en/timelineheads";

const counters: typeof english.counters = {
  utilisation: "设备上有任何活动在运行的时间占比。",
  waiting: "已下发但尚未开始：每段中的最大个数。",
  rate: "每 ms 开始的 kernel、拷贝与填充的个数。",
  sm_efficiency: "持有 block 的多处理器的占比，每个 kernel 的 block 数由 CUPTI 估计。",
  data_loader: "任一线程处于数据加载中的时间占比。",
  copies: "字节数除以此类拷贝运行的时间。",
  communication: "集合通信的字节数除以其运行时间，包含等待其他 rank 的时间。",
  memory: "每段中已分配总量的最大值。",
};

export const timelineheads: typeof english = {
  counters,
  only: "筛选轨道",
  onlyHelp: "线程、流、计数器或其进程、设备名称中的词；置顶的轨道保留。按 Esc 清除。",
  onlyNone: "没有轨道含有这些词。",
  top: "刻度的最大值",
  short: (label) => label.replace(/（推断）$/, ""),
  inferred: "，推断",
  allCounters: "所有计数器",
  removeRank: (rank) => `移除 rank ${rank}`,
  removeRankHelp: "移除此 rank",
  fold: (what) => spaced("折叠", what),
  unfold: (what) => spaced("展开", what),
  moveUp: "上移",
  moveUpOf: (what) => spaced("上移", what),
  pin: "置顶",
  pinOf: (what) => spaced("置顶", what),
  selectedOn: (what) => `在${what}上选取`,
  selectedOnHelp: "选区包含此轨道",
  note: (ranges, rows, time) => `${rows} 行共 ${ranges} 个区间，最外层的共 ${time}`,
  hidden: (note, hidden) => `${note}；${hidden} 个过深，未画出`,
};
