import { count } from "../count";
import type { widgets as english } from "../en/widgets";
import { spaced } from "../han";

export const widgets: typeof english = {
  copy: "复制",
  copied: "已复制",
  copyByHand: "请手动选中并复制",
  shown: (duration) => `显示 ${duration}`,
  timelineKeys: "时间线：方向键在区间之间移动，W 和 S 缩放，A 和 D 左右移动，问号列出快捷键",
  picker: {
    find: (name) => spaced("查找", name),
    nothing: "没有匹配项。",
    more: (n) => `还有 ${count(n)} 项：请输入文字以缩小范围。`,
  },
  area: {
    keys: (title) => `${title}。方向键移动光标，按住 Shift 加方向键标记一段，Enter 选取该段。`,
    peak: (size) => `峰值 ${size}`,
  },
  flame: { keys: (label) => `${label}方向键移动，Enter 放大，Backspace 返回。` },
  heat: {
    keys: (label) => `${label}方向键移动，Enter 选中。`,
    scale: (share, each) => `比该列中位数少或多 ${share}${each > 1 ? `；每条线代表 ${each} 行，显示其中偏离最大者` : ""}`,
  },
  histogram: {
    label: (title, bins) => `${title}：${bins.map((b) => `${count(b.calls)} 次从 ${b.low} 起`).join("，")}`,
    bin: (calls, low, high) => `${count(calls)} 次调用，${low} 至 ${high}`,
  },
  bars: {
    step: "迭代",
    keys: (noun) => `${spaced("各", noun, "的时间构成")}。方向键移动，Enter 选中。`,
    average: (duration) => `平均 ${duration}`,
    incomplete: "不完整",
    duration: "时长",
  },
};
