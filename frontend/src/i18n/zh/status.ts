import { count } from "../count";
import type { status as english } from "../en/status";

export const status: typeof english = {
  phases: {
    waiting: "正在排队，或等待另一个正在读取它的服务器",
    reading: "正在读取 trace",
    inferring: "正在构建时间线",
    storing: "正在保存结果",
  },
  cancelled: "读取已取消",
  cancelledWhy: "trace 没有读完，因此没有内容可显示。",
  readAgain: "重新读取",
  loading: "正在加载…",
  bytesRead: "已读取字节",
  ranks: (done, all) => `${count(done)} / ${count(all)} 个 rank`,
  bytes: (done, all) => `${done} / ${all}`,
  events: (events) => `${count(events)} 个事件`,
  soFar: (seconds) => `已用 ${seconds} s`,
  left: (seconds) => `约剩 ${count(seconds)} s`,
  cancel: "取消",
  retry: "重试",
  firstRun: "显示第一个运行",
  noFindings: "无：没有需要修复或舍弃的内容。",
};
