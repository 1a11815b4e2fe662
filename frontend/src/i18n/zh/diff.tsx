import type { Diff } from "../../api/types";
import { count } from "../count";
import type { diff as english } from "../en/diff";
import { spaced } from "../han";

const KINDS: Record<Diff["by"], string> = { operators: "算子", shapes: "算子（按输入形状）", kernels: "kernel", modules: "模块", annotations: "标注" };
const TIMES: Record<Diff["time"], string> = { device: "设备时间", host: "主机时间" };

export const diff: typeof english = {
  verdicts: { longer: "变长", shorter: "变短", within_noise: "波动范围内", within_bound: "误差界内", same: "无变化", unknown: "不确定" },
  statuses: { both: "", new: "新增", gone: "消失" },
  nothing: "没有可对比的 trace",
  oneTrace: (choose) => <>此 logdir 中只有一个 trace。请将另一次运行的目录放入其中，或者对比两个迭代：{choose("选择迭代")}。</>,
  commandLine: (command) => <>在命令行中，两个 trace 可以位于任何位置：{command}。</>,
  comparedWith: "对比",
  run: "运行",
  rank: "Rank",
  span: "采集段",
  step: "迭代",
  all: "全部",
  swap: "互换",
  swapHelp: "将基线与被对比的一方互换",
  parts: "迭代变化的构成",
  partsNote: "平均值；各部分之和等于总变化",
  largest: "最大的变化",
  largestNote: (by, time) => `${spaced("各", KINDS[by])}，按每个迭代的${TIMES[time]}`,
  none: (rows) => (rows ? "没有变化：两者相同。" : "没有变化：没有可对比的内容。"),
  steps: (n) => (n === 1 ? "1 个迭代" : `${count(n)} 个迭代的平均值`),
  base: { label: "基线迭代", help: "基线中完整迭代的平均值。" },
  now: { label: "迭代", help: "被对比一方的完整迭代的平均值。" },
  change: { label: "变化", help: "两者之差。" },
  total: {
    label: (time) => `${TIMES[time]}的变化`,
    help: (base, now) => `每个迭代从 ${base} 变为 ${now}：表格中所有行之和`,
  },
  bySpread: (error) => `± ${error}（迭代间的波动）`,
  byBounds: (error) => `± ${error}（误差界）`,
  said: (parts) => parts.join("，"),
  fromTo: (what, base, now, said) => `${what}：从 ${base} 变为 ${now}，${said}`,
};
