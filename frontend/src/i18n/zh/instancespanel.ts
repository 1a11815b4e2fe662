import { count } from "../count";
import type { instancespanel as english } from "../en/instancespanel";

export const instancespanel: typeof english = {
  callsOf: (name) => `${name} 的各次调用`,
  activitiesOf: (name) => `${name} 的各次活动`,
  order: "顺序",
  longest: "最长的",
  first: "最早的",
  close: "关闭",
  call: { noun: "次调用", nouns: "次调用" },
  activity: { noun: "次活动", nouns: "次活动" },
  ofCalls: (calls) => `共 ${count(calls)} 次调用`,
  durationsOf: (name) => `${name} 的时长分布`,
  columns: {
    start: { title: "开始", help: "相对采集开始的时间；点击链接在时间线中显示。" },
    duration: { title: "时长" },
    bound: { title: "误差界", help: "可能偏差多少。" },
    row: { title: "行", help: "在 trace 表格中的行号；点击链接打开其记录。" },
  },
  toTimeline: "在时间线中显示",
  toRecord: "打开其记录",
};
