// Chinese texts of en/lib.
import { count } from "../count";
import type * as english from "../en/lib";
import type { Translation } from "../translation";

export const filter: Translation<typeof english.filter> = {
  openQuote: '缺少右引号（"）。',
  isText: (name) => `${name} 是文本列：请使用 ${name} = "…" 或 ${name} != "…"。`,
  needsNumber: (name, operator, example) => `${name} ${operator} 之后需要一个数值：${example}。`,
  noUnit: (unit, name, example) => `${unit} 不是 ${name} 的单位：${example}。`,
  lacksUnit: (number, example) => `${number} 缺少单位：${example}。`,
  mayBe: (name, names) => `${name} 可能是 ${names.join("、").replace(/、([^、]*)$/, " 或 $1")}。`,
  noColumn: (name, names) =>
    `没有名为 ${name} 的列。可用的列：${names.join("、")}。如要搜索该文本，请加引号。`,
};

export const color: Translation<typeof english.color> = {
  kernel: "Kernel",
  memcpy: "未掩盖的拷贝",
  memset: "未掩盖的填充",
  communication: "未掩盖通信",
  unknown: "设备忙，启动者未知",
  runtime: "运行时",
  dataloader: "数据加载",
  cpu: "CPU",
  other: "其他",
};

export const editorLink: Translation<typeof english.editorLink> = {
  noScheme: "必须以编辑器的名称加冒号开头，例如 vscode:",
  forbidden: (scheme) => `浏览器不会把 ${scheme}: 交给编辑器。`,
  noPath: "其中没有 {path}。",
};

export const format: Translation<typeof english.format> = {
  missing: "此 trace 中没有",
  unknownBound: "± 未知",
  unknownRange: "范围未知",
  range: (low, high) => `${low} 至 ${high}`,
  atMost: (high) => `至多 ${high}`,
  kernels: (n) => `${count(n)} 个 kernel`,
  perMs: (n) => `每 ms ${n} 个`,
};

export const png: Translation<typeof english.png> = {
  save: "下载图片",
  noCanvas: "浏览器不支持 canvas。",
};
