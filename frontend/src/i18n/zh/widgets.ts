// Chinese texts of en/widgets.
import { count } from "../count";
import { spaced } from "../han";
import type * as english from "../en/widgets";
import type { Translation } from "../translation";

export const widgets: Translation<typeof english.widgets> = {
  copy: "复制",
  copied: "已复制",
  copyByHand: "请手动选中并复制",
  shown: (duration) => `显示 ${duration}`,
  headsEdge: "轨道名称的宽度",
  rowsEdge: (kind) => `${kind}每行的高度`,
  edgeHelp: "拖动或使用方向键。双击恢复默认大小。",
  timelineKeys: "时间线：方向键在区间之间移动，W 和 S 缩放，A 和 D 左右移动，问号列出快捷键",
  panel: {
    edge: { right: "面板宽度", bottom: "面板高度" },
    help: "拖动调整大小，双击恢复默认",
    close: "关闭",
    closeHelp: "关闭（Esc）",
  },
  picker: {
    find: (name) => spaced("查找", name),
    nothing: "没有匹配项。",
    more: (n) => `还有 ${count(n)} 项：请输入文字以缩小范围。`,
  },
  area: {
    keys: (title) => `${title}。方向键移动光标，按住 Shift 加方向键标记一段，Enter 选取该段。`,
    peak: (size) => `峰值 ${size}`,
  },
  flame: {
    keys: (label) => `${label}方向键移动，Enter 放大，Esc 返回。`,
    above: (rows) => `上方 ${count(rows)} 个栈帧，各占全部时间（点击展开）`,
  },
  heat: {
    keys: (label) => `${label}方向键移动，Enter 选中。`,
    scale: (share, each) =>
      `比该列中位数少或多 ${share}${each > 1 ? `；每条线代表 ${each} 行，显示其中偏离最大者` : ""}`,
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

/** What is not counted by 个: the noun has its own measure word, or is one. */
const MEASURE = /^[次条项](?=.)|^行$/;
const named = (noun: string): string => noun.replace(/^[次条项](?=.)/, "");

export const table: Translation<typeof english.table> = {
  nouns: (noun) => noun,
  rows: (chosen, all, noun) =>
    spaced(chosen === all ? "" : `${count(chosen)} / `, count(all), MEASURE.test(noun) ? "" : "个", noun),
  label: (what, opens) => `${spaced(named(what), "的表格")}。方向键移动${opens ? "，Enter 打开一行" : ""}。`,
  sums: (all, n) => `${all ? "共" : "选"} ${count(n)}`,
  sort: (help) => `${help}点击排序，按住 Shift 点击再按一列排序。`,
  none: (nouns) => `${spaced("此处没有", named(nouns))}。`,
  noMatch: (nouns) => `${spaced("没有符合筛选条件的", named(nouns))}。`,
  clear: "清除筛选",
  filterOpens: "筛选时，匹配的行会自动展开",
  printed: (printed, all) => `共 ${count(all)} 行，只打印前 ${count(printed)} 行；页面上的 CSV 含全部。`,
  saveShown: "下载当前显示的内容，含精确值（ns）",
  save: "下载此表格，含精确值（ns）",
  columns: "列",
  chooseColumns: "选择要显示的列",
  usualColumns: "恢复默认",
  filter: (nouns) => spaced("筛选", named(nouns)),
  placeholder: (example) => `筛选：文本${example === null ? "" : `，或 ${example}`}   ( / )`,
  filterHelp: (names) =>
    `可用：词语、"带引号的文本"、-排除的词，以及对 ${names.join("、")} 的比较。所有条件须同时成立。`,
};

export const trackLayout: Translation<typeof english.trackLayout> = {
  counters: "计数器",
  pinned: "已置顶",
  busy: "繁忙",
};
