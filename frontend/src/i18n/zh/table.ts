import { count } from "../count";
import type { table as english } from "../en/table";
import { spaced } from "../han";

/** What is not counted by 个: the noun has its own measure word, or is one. */
const MEASURE = /^[次条项](?=.)|^行$/;
const named = (noun: string): string => noun.replace(/^[次条项](?=.)/, "");

export const table: typeof english = {
  nouns: (noun) => noun,
  rows: (chosen, all, noun) => spaced(chosen === all ? "" : `${count(chosen)} / `, count(all), MEASURE.test(noun) ? "" : "个", noun),
  label: (what, opens) => `${spaced(named(what), "的表格")}。方向键移动${opens ? "，Enter 打开一行" : ""}。`,
  sums: (all, n) => `${all ? "共" : "选"} ${count(n)}`,
  sort: (help) => `${help}点击排序，按住 Shift 点击再按一列排序。`,
  none: (nouns) => `${spaced("此处没有", named(nouns))}。`,
  noMatch: (nouns) => `${spaced("没有符合筛选条件的", named(nouns))}。`,
  clear: "清除筛选",
  filterOpens: "筛选时，匹配的行会自动展开",
  saveShown: "下载当前显示的内容，含精确值（ns）",
  save: "下载此表格，含精确值（ns）",
  columns: "列",
  chooseColumns: "选择要显示的列",
  usualColumns: "恢复默认",
  filter: (nouns) => spaced("筛选", named(nouns)),
  placeholder: (example) => `筛选：文本${example === null ? "" : `，或 ${example}`}   ( / )`,
  filterHelp: (names) => `可用：词语、"带引号的文本"、-排除的词，以及对 ${names.join("、")} 的比较。所有条件须同时成立。`,
};
