// Chinese texts of en/pages/history.
import type * as english from "../../en/pages/history";
import type { Translation } from "../../translation";
import { count } from "../../count";

export const history: Translation<typeof english.history> = {
  title: "运行",
  noun: "记录",
  nouns: "记录",
  trendOf: "趋势",
  figures: {
    step_ns: "迭代时间",
    utilization: "利用率",
    mfu: "MFU",
    memory_peak_bytes: "内存峰值",
  },
  matching: "运行名称包含",
  reading: (read, all) => `已读取 ${count(read)} / ${count(all)} 条记录`,
  waiting: "尚未读取",
  keys: "方向键在记录间移动，Enter 选择一条。",
  oldest: "最早",
  latest: "最新",
  point: (run, span, value, outside) => `${run}，第 ${span} 段：${value}${outside ? "，超出噪声" : ""}`,
  summary: (figure, recordings, changes) =>
    `${count(recordings)} 条记录的${figure}，按时间排列。${changes.length ? `变化：${changes.join("、")}。` : "没有超出噪声的变化。"}`,
  from: (run, span) => `自 ${run} 第 ${span} 段起`,
  levels: (before, now) => `之前 ${before}，现在 ${now}：`,
  why: "查看原因",
  recording: (run, span) => `${run}，第 ${span} 段`,
  and: " 与 ",
  pickTwo: "点击两条记录以进行比较。",
  pickAnother: "再点击一条以进行比较",
  compare: "比较",
  clear: "清除",
  columns: {
    run: { title: "运行" },
    span: { title: "段", help: "一次运行的各条记录，按时间排列" },
    written: { title: "写入时间", help: "文件最后一次更改的时间" },
    device: { title: "设备" },
    ranks: { title: "Rank 数", help: "该运行的 rank 数；数值取自编号最小的 rank" },
    step: { title: "迭代时间", help: "完整迭代的平均时长" },
    steps: { title: "迭代数", help: "完整的迭代" },
    deviation: { title: "标准差", help: "各迭代之间的标准差" },
    utilization: { title: "利用率", help: "设备忙碌时间占各迭代时间的比例" },
    mfu: { title: "MFU", help: "完整迭代的模型 FLOPs 利用率" },
    memory: { title: "内存峰值", help: "设备上分配的最多字节数" },
    saving: { title: "可节省", help: "单个问题的最大节省，占所分析迭代的比例" },
    finding: { title: "首要问题", help: "节省最多的问题" },
    verdict: { title: "限制", help: "限制所分析迭代的因素" },
  },
};
