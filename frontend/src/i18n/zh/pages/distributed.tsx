// Chinese texts of en/pages/distributed.
import type { Grid } from "../../../api/types";
import { count } from "../../count";
import type * as english from "../../en/pages/distributed";
import type { Translation } from "../../translation";

const MEASURES: Record<Grid["measure"], string> = {
  step: "迭代",
  computation: "计算",
  communication: "通信",
  exposed: "未掩盖通信",
  idle: "空闲",
  waiting: "等待",
};

export const distributed: Translation<typeof english.distributed> = {
  measures: {
    step: { label: "迭代", title: "迭代的时长" },
    computation: { label: "计算", title: "不属于通信的 kernel" },
    exposed: { label: "未掩盖通信", title: "没有被计算掩盖的通信" },
    waiting: { label: "等待", title: "在集合通信中等待最后一个 rank 到来" },
    idle: { label: "空闲", title: "设备无事可做" },
  },
  parts: { kernel: "计算", memcpy: "未掩盖的拷贝", communication: "未掩盖通信", other: "空闲" },
  rank: "Rank",
  ofEachRank: (step) => (step === null ? "各 rank 的平均迭代" : `各 rank 的迭代 ${step}`),
  onHost: (all) => ` 计算为主机上的计算：${all ? "没有设备" : "部分 rank 没有设备"}`,
  grid: "各 rank 的各个迭代",
  measure: "指标",
  order: "排序",
  byRank: "按 rank",
  longestFirst: "时长长的在前",
  stepsEach: (n) => `每列为 ${n} 个迭代的平均值`,
  gridLabel: (measure) => `各 rank 的各个迭代：${MEASURES[measure]}。`,
  cell: (rank, step, value) => (
    <>
      <b>Rank {rank}</b>，迭代 {step}：{value}
    </>
  ),
  unknown: "未知",
  legend: "各 rank 迭代的时间构成",
  hiddenHelp: (hidden) => `与计算同时进行的通信：所有 rank 共 ${hidden}。`,
  hidden: (share) => `${share} 的通信被计算掩盖`,
  callsOf: (rank) => `rank ${rank} 的调用`,
  table: "表格",
  tables: { ranks: "Rank", collectives: "集合通信", steps: "迭代" },
  nouns: {
    ranks: { noun: "rank", nouns: "rank" },
    collectives: { noun: "集合通信", nouns: "集合通信" },
    steps: { noun: "迭代", nouns: "迭代" },
  },
  someCollectives: (listed, all) => `${count(all)} 个中耗时最多的 ${count(listed)} 个`,
  someRanks: (listed, all) => `${count(all)} 个中其他 rank 等待最久的 ${count(listed)} 个`,
  someSteps: (listed, all) => `${count(all)} 个中相对同一迭代的中位数最慢的 ${count(listed)} 个`,
  onNode: (host) => `，位于 ${host}`,
  collectiveOnHost: "（主机上）",
  onRank: (rank) => `在 rank ${rank} 上\n在时间线中显示`,
  leftOut: " 未计入",
  leftOutHelp: "被采集的结束截断，或为预占用的迭代：不计入任何平均值。",
  ranks: {
    rank: "Rank",
    problem: "疑点",
    steps: "迭代数",
    step: { title: "迭代", help: "完整迭代的平均值。" },
    computation: { title: "计算", help: "不属于通信的 kernel；没有设备时为算子。" },
    communication: { title: "通信（总计）", help: "通信 kernel，以及 gloo 在主机上的工作。" },
    overlap: { title: "重叠", help: "计算与通信同时进行。" },
    exposed: { title: "未掩盖通信", help: "没有被计算掩盖的通信。" },
    copy: { title: "未掩盖的拷贝", help: "除此之外的拷贝与填充。" },
    idle: { title: "空闲", help: "迭代中其余的时间。" },
    transferring: { title: "传输", help: "通信调用中，最后到来的 rank 所用的时间。" },
    synchronizing: { title: "等待", help: "通信调用中，等待最后一个 rank 到来的时间。" },
    last: { title: "最后", help: "在多少次集合通信中，其他 rank 在等待它。" },
    caused: { title: "造成等待", help: "其他每个 rank 等待它的总时间。" },
    clock: { title: "时钟", help: "根据共同参与的集合通信的结束时刻，它的时钟比编号最小的 rank 快多少。" },
    clockBound: { title: "± 时钟", help: "这些集合通信的结束时刻中，95 % 的偏差不超过此值。" },
  },
  collectives: {
    kind: "集合通信",
    group: { title: "通信组", help: "通信组及其用途。" },
    members: "成员数",
    bytes: { title: "字节数", help: "一个 rank 上的一次调用。" },
    calls: "调用次数",
    longest: { title: "最长", help: "所有 rank 中时长最长的一次调用；点击链接在其 rank 的时间线中显示。" },
    ranks: "rank 数",
    total: { title: "总计", help: "所有 rank 之和。" },
    mean: { title: "平均", help: "一个 rank 上的一次调用，包括等待。" },
    transfer: {
      title: "传输",
      help: "一次调用中，最后到来的 rank 所用的时间。仅当同一次调用在多个 rank 上都已知时才有。",
    },
    synchronizing: { title: "等待", help: "一次调用中超出传输的时间，取平均。" },
    algorithm: { title: "算法带宽", help: "字节数除以传输时间；传输时间未知时除以平均时长，因此偏小。" },
    bus: { title: "总线带宽", help: "每条链路上的数据量，计法与 NCCL tests 相同。" },
  },
  steps: {
    rank: "Rank",
    step: "迭代",
    duration: { title: "时长", help: "迭代的时间窗口；点击链接在该 rank 的时间线中显示。" },
  },
};

export const rankFindings: Translation<typeof english.rankFindings> = {
  title: "建议",
  titleNote: (findings, link) => (
    <>
      所有 rank 共 {count(findings)} 个问题；每个 rank 另有{link("自己的建议")}
    </>
  ),
  symptoms: "表现为",
  ofStep: (time) => `平均迭代中的 ${time}`,
  ranks: (n) => (n === 1 ? "Rank" : `${count(n)} 个 rank`),
  rank: (rank) => `rank ${rank}`,
};
