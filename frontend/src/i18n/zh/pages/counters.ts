// Chinese texts of en/pages/counters.
import type * as english from "../../en/pages/counters";
import type { Translation } from "../../translation";

export const counters: Translation<typeof english.counters> = {
  title: "计数器",
  none: "该 trace 没有计数器。",
  noneHelp: "若 profiler 记录了时钟、功耗或带宽，或程序自行添加了 phase 为 C 的事件，trace 中便有计数器。",
  table: "表格",
  tabs: {
    counters: "全部计数器",
    kernels: "按 kernel",
    kernelsHelp: "同名 kernel 运行期间所选计数器的值。",
    noKernels: "kernel 没有测得的时间，或都早于第一个值。",
    steps: "按迭代",
    stepsHelp: "每个迭代时间窗口内所选计数器的值。",
  },
  counter: "计数器",
  nouns: {
    counter: { noun: "个计数器", nouns: "个计数器" },
    kernel: { noun: "个 kernel 名称", nouns: "个 kernel 名称" },
    step: { noun: "个迭代", nouns: "个迭代" },
  },
  columns: {
    name: { title: "计数器", help: "点击一行可按 kernel 查看该计数器。" },
    one: { title: "计数器" },
    process: { title: "进程", help: "trace 中该计数器所属的进程，通常是一个设备。" },
    values: { title: "数值个数", help: "记录了多少个值。" },
    interval: { title: "间隔", help: "相邻两个值之间时间的中位数。" },
    mean: { title: "均值", help: "按时间平均，采用计数器自身的单位。每个值保持到下一个值为止。" },
    min: { title: "最小" },
    max: { title: "最大" },
    busy: { title: "忙时均值", help: "设备上有活动运行期间。" },
    idle: { title: "闲时均值", help: "设备上没有活动运行期间。" },
    kernel: { title: "kernel 名称" },
    calls: { title: "次数" },
    device: { title: "设备时间" },
    samples: {
      title: "期间数值",
      help: "这些 kernel 运行期间记录的值。若很少，均值反映的是其前后运行的工作。",
    },
    step: { title: "迭代" },
    length: { title: "时长" },
  },
};
