import { count } from "../count";
import type { best as english } from "../en/best";

export const best: typeof english = {
  title: "优先改进",
  titleNote: "以及可节省的时间",
  looking: "正在查找可以加快之处…",
  failed: (message) => `无法显示问题：${message}`,
  retry: "重试",
  nothing: "没有发现问题。",
  noSaving: "没有发现已知可节省时间的问题。",
  looked: "检查了哪些规则",
  others: (n) => `其他 ${count(n)} 个问题`,
  all: (n) => `全部 ${count(n)} 个问题`,
  why: "原因与改进方法",
  ofSteps: (time) => `所评估的迭代中的 ${time}`,
  perStep: (time) => `每个迭代 ${time}`,
};
