// Chinese texts of en/pages/culprits.
import type { Culprit } from "../../api/types";
import { count } from "../count";
import type * as english from "../en/pages/culprits";
import type { Translation } from "../translation";

const KINDS: Record<Culprit["kind"], string> = {
  rank: "慢",
  node: "慢节点",
  link: "慢链路",
  missing: "缺少集合通信",
  input: "数据加载迟到",
  throttled: "设备较慢",
};
const CAUSES: Record<Culprit["cause"], string> = {
  computation: "计算更久",
  copy: "拷贝更久",
  host: "设备空闲更久：主机下发太晚",
  input: "等待数据加载更久",
  transfer: "传输比同类通信组更久",
  unknown: "采集中看不出哪部分更久",
};
const MEANINGS: Record<Culprit["cause"] | "throttled" | "missing", string> = {
  computation: "检查是否比同类 rank 计算量更大（例如样本更长），或 kernel 更慢。",
  throttled: "调用次数相同，但几乎所有 kernel 都更慢：检查设备的频率、功耗与散热。",
  copy: "与同类 rank 比较拷贝的次数、大小以及是否使用锁页内存。",
  host: "检查处理器的负载与亲和性、垃圾回收和日志。",
  input: "检查数据加载的工作进程、存储以及该处样本的大小。",
  transfer: "检查这些 rank 之间的网络：链路速度、路由、其他流量。",
  missing: "其他 rank 有它没有的调用，或其 trace 丢失了事件。缺少这些调用时作业可能挂起。",
  unknown: "将其时间线与某个等待的 rank 的时间线比较。",
};

export const culprits: Translation<typeof english.culprits> = {
  title: "谁让其他 rank 等待",
  titleNote: (n) => `${count(n)} 个超出偶然的原因，按全部完整迭代计`,
  none: (least) =>
    `没有哪个 rank 让其他 rank 等待超出偶然的程度。每个迭代不到 ${least} 的等待不列出；若迭代波动大，更长的等待也可能看不出。`,
  fewSteps: (n) => `要指出让其他 rank 等待的 rank，请采集至少 ${n} 个完整迭代。`,
  kinds: KINDS,
  host: (name, ranks) => `主机 ${name}，rank ${ranks}`,
  group: (name, ranks) => `通信组 ${name}，rank ${ranks}`,
  ranks: (ranks) => `rank ${ranks}`,
  onHost: (name) => `位于 ${name}`,
  cost: (time) => `其他 rank 每个迭代等待 ${time}`,
  noCost: "等待时间未知",
  causeName: "原因",
  waiting: "等待者",
  evidenceName: "依据",
  pages: "页面",
  colon: "：",
  compare: "用于比较：",
  meanings: MEANINGS,
  cause: (cause, time) => `${CAUSES[cause]}${time === null ? "" : `，每个迭代多 ${time}`}。`,
  inKernel: (time, kernel) => (
    <>
      其中 {time} 在 {kernel} 中。
    </>
  ),
  mostly: (name) => `其中大部分为：${name}。`,
  excess: (time, bound, isLink) =>
    `${isLink ? "传输" : "自身工作"}每个迭代比同类的中位数多 ${time} ± ${bound}（99 %）`,
  uncertain: (steps) => `只有 ${count(steps)} 个迭代，差异的大小不确定。`,
  fewerCalls: "调用次数少于通信组的大多数成员",
  evidence: (what, steps, all, jobs) =>
    `${what}，${count(all)} 个迭代中有 ${count(steps)} 个如此。若为偶然，${count(jobs)} 个作业中不到 1 个。`,
  timeline: "时间线",
  overview: "总览",
  more: (list, n) => `${list} 等，另有 ${count(n)} 段`,
  compareAll: (n) => `对比 ${count(n)} 个 rank`,
  comparing: (done, all) => `正在对比各个 rank：已读取 ${count(done)} / ${count(all)} …`,
  again: "重试",
  notShown: "从这些采集看不出 rank 之间是否互相等待。",
  ranksPage: "Rank",
  comma: "：",
  between: "；",
  end: "。",
  moreCauses: (n) => `以及另外 ${count(n)} 个原因`,
};
