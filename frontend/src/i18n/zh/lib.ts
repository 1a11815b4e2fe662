import type { filter as english } from "../en/lib";

export const filter: typeof english = {
  openQuote: '缺少右引号（"）。',
  isText: (name) => `${name} 是文本列：请使用 ${name} = "…" 或 ${name} != "…"。`,
  needsNumber: (name, operator, example) => `${name} ${operator} 之后需要一个数值：${example}。`,
  noUnit: (unit, name, example) => `${unit} 不是 ${name} 的单位：${example}。`,
  lacksUnit: (number, example) => `${number} 缺少单位：${example}。`,
  mayBe: (name, names) => `${name} 可能是 ${names.join("、").replace(/、([^、]*)$/, " 或 $1")}。`,
  noColumn: (name, names) => `没有名为 ${name} 的列。可用的列：${names.join("、")}。如要搜索该文本，请加引号。`,
};
