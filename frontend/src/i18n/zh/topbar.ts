import type { topbar as english } from "../en/topbar";

export const topbar: typeof english = {
  run: "运行",
  rank: "Rank",
  span: "采集段",
  step: "迭代",
  allSteps: "全部",
  looking: "正在查找更多…",
  keys: "快捷键与筛选",
  language: "语言",
  source: "设备时间的来源",
  findings: "数据疑点",
  findingsHelp: "数据中有哪些可疑之处",
  withExamples: "含示例",
};
