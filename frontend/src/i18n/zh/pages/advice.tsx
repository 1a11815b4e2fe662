// Chinese texts of en/pages/advice.
import { count } from "../../count";
import { spaced } from "../../han";
import type * as english from "../../en/pages/advice";
import type { Translation } from "../../translation";

export const advice: Translation<typeof english.advice> = {
  causes: {
    input: { title: "数据供给慢", short: "输入" },
    launching: { title: "主机下发太慢", short: "下发" },
    waiting: { title: "主机与设备互相等待", short: "等待" },
    device: { title: "设备上可以减少的工作", short: "设备" },
    communication: { title: "rank 之间的通信", short: "通信" },
    memory: { title: "内存", short: "内存" },
    fallback: { title: "没有自己的 kernel 的算子", short: "回退" },
    recording: { title: "更完整的采集能说明什么", short: "采集" },
  },
  severities: { high: "高", medium: "中", low: "低", note: "提示" },
  confidences: { high: "高", medium: "中", low: "低" },
  answers: {
    found: "发现问题",
    nothing: "未发现问题",
    not_asked: "无法检查",
    failed: "检查失败：请报告此错误",
  },
  cause: "原因",
  all: "全部",
  allHelp: "所有原因的问题",
  putAside: (n) => `已搁置 ${count(n)} 个问题`,
  bringBack: "恢复",
  oneOfRanks: (ranks, distributed) => (
    <>
      这是 {count(ranks)} 个 rank 之一。{distributed("Rank")}页面对比各个 rank，并指出其他 rank 在等待哪一个。
    </>
  ),
  ofTime: (share) => `占时间的 ${share}`,
  nothingBehind: "修复上方后无节省",
  saved: {
    label: "可节省时间",
    unit: "/ 1",
    note: (step, steps) =>
      step !== null
        ? `占迭代 ${step}，估计值`
        : steps === 0
          ? "占所分析的时间，估计值"
          : `占 ${count(steps)} 个迭代，估计值`,
    unknown: "没有已知的可节省时间",
    help: "一次重放中修复所有问题：等于每个问题在修复上方问题之后可节省时间之和。在采集内容允许时，比例不含 profiler 自身的时间。",
  },
  perStep: {
    label: "每次迭代",
    labelAll: "所分析的时间内",
    unit: "ns，所有被分析的迭代",
    note: (whole, isNet) => `共 ${whole}${isNet ? "（不含 profiler）" : ""}`,
    help: "所有问题的可节省时间除以被分析的迭代数。",
  },
  findings: {
    label: "问题",
    unit: "个问题",
    note: (high) => `其中高 ${count(high)} 个`,
    help: "高：占时间的 10 % 以上；中：3 % 以上；低：更少。提示没有已知的可节省时间。",
  },
  rules: {
    label: "已检查的规则",
    unit: "条规则",
    value: (answered, all) => `${count(answered)} / ${count(all)}`,
    some: "采集中缺少其余规则所需的数据",
    all: "全部规则",
    help: "规则读取算子、设备时间、形状、调用栈与内存：下方列出检查了哪些规则及其结果。",
  },
  nothing: "没有发现需要改进之处。",
  fine: "已检查，没有问题",
  open: "没有已知的改进办法",
  nothingBy: (looked) => `${count(looked)} 条规则没有发现值得改进（超过时间的 0.5 %）之处。`,
  noSaving: "没有已知的可节省时间",
  savingOf: (saving, whole, isNet) => `${saving}，共 ${whole}${isNet ? "（不含 profiler 自身的时间）" : ""}`,
  fix: "如何改进",
  before: "修改前",
  after: "修改后",
  next: "之后的瓶颈",
  where: "位置",
  saves: "可节省时间",
  savesPerStep: (saving, share) => `${saving}，${share}`,
  rangeHelp: "在最低与最高的假设下可节省的时间",
  rangeOfAll: (low, high) => `在最低与最高的假设下可节省的时间：所有被分析的迭代共 ${low} 至 ${high}`,
  behind: (share) => `；修复上方问题之后 ${share}`,
  behindShort: (share) => `修复上方后 −${share}`,
  behindHelp: "修复上方的问题之后，它还能节省的时间。各项之和即所有问题一起可节省的时间。",
  change: "试一试（假设分析）",
  trial: "在您的程序上试一试",
  trialHelp: "在程序运行时应用该修复并测量收益；不改动任何文件",
  how: "计算方法",
  confidence: "置信度",
  lacks: (what) => spaced("；采集中缺少", what.join("；")),
  events: "事件",
  someEvents: (shown, all) => `${count(all)} 个事件中的 ${count(shown)} 个`,
  timeline: "时间线",
  reference: "依据",
  put: "搁置",
  putHelp: "隐藏此问题；网址会记住这一选择",
  looked: "检查了哪些规则",
  rule: "规则",
  answer: "结果",
  lacking: "采集中缺少",
  list: (what) => what.join("；"),
};
