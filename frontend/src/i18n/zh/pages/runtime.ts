// Chinese texts of en/pages/runtime.
import type * as english from "../../en/pages/runtime";
import type { Translation } from "../../translation";

export const runtime: Translation<typeof english.runtime> = {
  title: "运行时调用",
  noun: "种调用",
  nouns: "种调用",
  none: "没有记录到设备运行时或驱动的调用。",
  summary: (blocked, total) => `${total} 中有 ${blocked} 在等待设备`,
  onHost: (host, device) => `窗口在主机上为 ${host}，在设备上为 ${device}`,
  summaryHelp: "所有线程之和；一个调用内部的调用不重复计入。",
  columns: {
    name: { title: "调用", help: "点击一行可打开其典型调用的记录。" },
    share: { title: "占主机时间", help: "占主机上该窗口的时间；多个线程可能同时调用。" },
    total: { title: "总计", help: "在主机上的时间之和。" },
    calls: { title: "次数" },
    mean: { title: "平均" },
    median: { title: "典型", help: "中位数对应的调用；链接可打开其记录。" },
    max: { title: "最大", help: "链接可打开最长调用的记录。" },
    blocked: { title: "等待", help: "等到设备完成工作才返回的调用的时间。" },
    idle: { title: "设备空闲", help: "其中设备无事可做的时间。" },
    activities: { title: "下发", help: "这些调用下发的 kernel、拷贝与填充。" },
    device: { title: "设备时间", help: "所下发活动的时间。" },
    operator: { title: "算子", help: "这些调用时间最多的算子。" },
    function: { title: "函数", help: "这些调用时间最多的用户函数，取自 Python 调用栈；行号是函数开始处。" },
  },
  showTypical: "显示典型调用",
  showLongest: "显示最长调用",
};
