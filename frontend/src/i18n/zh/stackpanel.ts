import type { stackpanel as english } from "../en/stackpanel";

export const stackpanel: typeof english = {
  label: (title) => `${title} 的调用栈`,
  toRecord: "最长一次调用的记录",
  toTimeline: "在时间线中显示",
  close: "关闭",
};
