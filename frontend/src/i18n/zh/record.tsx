import type { EventRecord } from "../../api/types";
import type { record as english } from "../en/record";

const tables: Record<EventRecord["table"], string> = {
  ops: "算子或标注",
  frames: "Python 栈帧",
  launches: "下发",
  kernels: "设备活动",
  memory: "内存事件",
};

export const record: typeof english = {
  oneEvent: "单个事件",
  close: "关闭",
  closeHelp: "关闭（Esc）",
  where: (table, row) => `${tables[table]}，${table} 的第 ${row} 行`,
  facts: {
    thread: "位置",
    start: "开始",
    duration: "时长",
    self: "自身时间",
    elapsed: "设备已用时间",
    step: "迭代",
    operator: "算子",
    launch: "下发",
    parent: "外层",
    evidence: "证据",
  },
  inferred: (evidence) => `推断：${evidence}`,
  howKnown: "如何得知",
  toTimeline: "在时间线中显示",
  record: "记录",
  asIn: (file) => `${file} 中的原文`,
  noRecord: (operator) => <>该活动为推断所得：没有文件记录它。推断的依据是它的算子{operator && <> {operator}</>}。</>,
  cut: "记录更长，此处只显示开头。",
};
