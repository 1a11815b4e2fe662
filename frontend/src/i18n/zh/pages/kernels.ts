// Chinese texts of en/pages/kernels.
import { count } from "../../count";
import type * as english from "../../en/pages/kernels";
import type { Translation } from "../../translation";

export const kernels: Translation<typeof english.kernels> = {
  noun: "kernel",
  nouns: "kernel",
  groupBy: "分组",
  byOperator: "名称与算子",
  byName: "名称",
  byLaunch: "下发配置",
  byLaunchHelp: "按名称、算子、grid、block、寄存器与共享内存分组",
  noLaunches: "trace 中没有 kernel 的下发配置。",
  short: (share, limit) => `${share} 短于 ${limit}`,
  shortHelp: (calls, total) => `${count(calls)} 个 kernel，合计 ${total}。主机下发一个 kernel 需要数微秒。`,
  matrix: (unit, share) => `${unit}：占可用部分的 ${share}`,
  matrixHelp: (eligible, used, total) =>
    `gemm、卷积与注意力算子的 kernel 共 ${eligible}，其中从名称可知使用了它的 kernel 占 ${used}。全部 kernel 中使用它的合计 ${total}。`,
  others: (rows, total) => `其余 ${count(rows)} 个：${total}`,
  othersHelp: "筛选的第一个词会在全部行中查找。",
  columns: {
    name: { title: "Kernel", help: "点击一行，显示其各次活动，首先是典型的一次。" },
    kind: { title: "类型" },
    operator: { title: "算子", help: "下发它的最内层算子。" },
    grid: { title: "网格", help: "各维度的线程块数。" },
    block: { title: "线程块", help: "一个线程块在各维度的线程数。" },
    registers: { title: "寄存器", help: "每个线程的寄存器数。" },
    shared: { title: "共享内存", help: "每个线程块的共享内存。" },
    share: { title: "占 kernel 时间", help: "占所有 kernel 时间之和的比例。" },
    total: { title: "总计", help: "所有调用之和：多个流重叠时大于繁忙时间。" },
    calls: { title: "调用次数", help: "点击链接逐次显示。" },
    mean: { title: "平均" },
    median: { title: "中位数" },
    p95: { title: "p95", help: "95 % 的调用不超过此时长。" },
    min: { title: "最小" },
    max: { title: "最大" },
    occupancy: { title: "占用率", help: "由设备的 profiler 估算；按时长加权的平均值。" },
    blocksPerSm: { title: "每 SM 线程块", help: "按时长加权的平均值。" },
    short: { title: "短调用" },
    matrix: { help: "从名称看是否使用了它。" },
  },
  shorterThan: (limit) => `短于 ${limit} 的调用。`,
  showCalls: "逐次显示",
  yes: "是",
  no: "否",
  noOperator: "没有找到下发它的算子。",
  toOperator: (name) => `${name}\n显示该算子`,
};
