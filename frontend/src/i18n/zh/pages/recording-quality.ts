// Chinese texts of en/pages/recording-quality.
import { count } from "../../count";
import type * as english from "../../en/pages/recording-quality";
import type { Translation } from "../../translation";

export const quality: Translation<typeof english.quality> = {
  figures: {
    totals: "设备总计",
    steps: "迭代",
    operators: "算子",
    kernels: "kernel",
    memory: "内存",
    stacks: "调用栈",
  },
  events: "事件",
  findingsUnit: "个疑点",
  eventsUnit: "个事件",
  ofOne: "（全部为 1）",
  errors: "错误",
  errorsHelp: "某个数字有误，或某一类数字全部缺失。",
  warnings: "警告",
  warningsHelp: "某个数字部分缺失或可疑。",
  notes: "提示",
  notesHelp: "数字没有错误，但读者应当知道。",
  linked: "已关联",
  linkedOf: (step) => `已关联，迭代 ${step}`,
  allActivities: "全部设备活动",
  accuracyClass: (letter) => `后端的准确度等级：${letter}。`,
  accuracyReason: (reason) => `未达更高等级的原因：${reason}。`,
  accuracyChecked: (date) => `检查于 ${date}，命令：`,
  notLinked: (lost, activities) => `${activities} 个活动中有 ${count(lost)} 个未关联`,
  linkedHelp: "已知其在主机上的下发的设备活动；推断的时间线则为已知其算子的设备活动。",
  unlinkedTime: "未关联时间",
  unlinkedTimeOf: (step) => `未关联时间，迭代 ${step}`,
  ofDeviceTime: (share) => `占设备时间的 ${share}`,
  unlinkedTimeHelp: "未关联的活动的时长之和。",
  eventsHelp: "从文件中读取的事件。",
  nothingWrong: "没有发现问题。",
  allClear: "文件完整，时间与时钟相符，区间正确嵌套，没有重复记录，迭代既不重叠也未被截断。",
  allClearLinked:
    "文件完整，时间与时钟相符，每个设备活动都已关联，区间正确嵌套，没有重复记录，迭代既不重叠也未被截断。",
  severity: "严重程度",
  what: "内容",
  count: "个数",
  affects: "影响",
  examples: "示例",
  everything: "全部",
  between: "、",
};
