import { count } from "../count";
import type { averages as english } from "../en/averages";

export const averages: typeof english = {
  title: "平均迭代",
  of: (steps) => `${count(steps)} 个完整迭代`,
  save: "下载平均值，含精确值（ns）",
  part: "部分",
  mean: "平均",
  share: "占比",
  shareHelp: "占平均时长的比例。",
  deviationHelp: "各迭代之间的标准差。",
  least: "最小",
  most: "最大",
  step: (step) => `迭代 ${step ?? ""}`,
  difference: "差值",
  differenceHelp: "所选迭代减去平均值。",
  whole: "迭代",
};
