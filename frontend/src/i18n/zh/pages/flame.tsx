// Chinese texts of en/pages/flame.
import type { Flame } from "../../../api/types";
import { count } from "../../count";
import { spaced } from "../../han";
import type * as english from "../../en/pages/flame";
import type { Translation } from "../../translation";

const TIMES: Record<Flame["by"], string> = { device: "设备时间", host: "主机时间" };

export const flame: Translation<typeof english.flame> = {
  kinds: {
    module: "模块",
    operator: "算子",
    annotation: "标注",
    frame: "栈帧",
    none: "无",
    ignored: "已忽略",
    kernel: "kernel",
    memcpy: "memcpy",
    memset: "memset",
    communication: "通信",
    unknown: "启动者未知",
  },
  showAll: "显示全部",
  tree: "树",
  topDown: { label: "自顶向下", title: "从最外层的调用者开始，时间最多的在前" },
  bottomUp: { label: "自底向上", title: "先列自身时间，其下是调用者" },
  sandwich: { label: "三明治", title: "一个栈帧：上方为其调用者，下方为其调用，合并所有位置" },
  toSandwich: "调用者与被调用者",
  callers: "调用者",
  callersNote: (n) => (n > 0 ? "所有位置上调用它的" : "无：它在最外层"),
  calleesNote: (total, calls) => `${total}，${count(calls)} 次调用；它所调用的`,
  callersLabel: (boxes) => `调用者，${count(boxes)} 格。`,
  ignore: (n) => (n > 0 ? `已忽略：${count(n)}` : "忽略"),
  ignoreHelp: "忽略的栈帧：其时间计入所显示的调用者",
  libraries: "库",
  librariesHelp: "torch、site-packages 与 Python 自身的栈帧。",
  patterns: "名称的一部分",
  patternsExample: "例如 transformers/;vllm/*.forward",
  patternsHelp: "以 ; 分隔，* 为任意文本。用于 torch 写出时不含 site-packages 的包。",
  ignoreNothing: "不忽略",
  ignoreThis: (pattern) => `忽略 ${pattern}`,
  window: (step, length) => (step ? `该迭代的 ${length}` : `各迭代的 ${length}`),
  sharesOf: (window) => spaced(`格中的百分比为占${window}`, "的比例。"),
  windowShare: (share, window) => `，占${window}的 ${share}`,
  time: "时间",
  device: { label: "设备", title: "其中下发的活动的时间" },
  noDevice: "此 trace 没有设备时间。",
  host: { label: "主机", title: "从调用到返回" },
  show: "显示",
  everything: "全部",
  operators: { label: "算子", title: "不含 Python 栈帧" },
  modules: "模块",
  eachModule: "各个模块",
  byClass: { label: "按类", title: "同一类的模块合为一格" },
  find: "查找   ( / )",
  findHelp: "在火焰图中查找",
  found: (share) => `找到的占时间的 ${share}`,
  stacks: "调用栈",
  stacksHelp: "折叠的调用栈（单位 ns），供 speedscope 与 flamegraph.pl 使用",
  empty: (by) => (by === "device" ? "此处没有向设备下发任何活动。" : "trace 中没有主机的区间。"),
  label: (by, boxes) => `按${TIMES[by]}的火焰图，${count(boxes)} 格。`,
  crumbs: "火焰图的起点",
  all: "全部",
  whole: (by, total, places, tooSmall) =>
    `${TIMES[by]}共 ${total}，分布于 ${count(places)} 处${tooSmall > 0 ? `，其中 ${count(tooSmall)} 处太小而看不见：请放大` : ""}。${by === "host" ? "为所有线程之和。" : ""}`,
  times: (total, share, self, calls) => (
    <>
      {total}（占图的 {share}），自身 {self}，{count(calls)} 次调用
    </>
  ),
  merged: (n, time) => `，内部有 ${count(n)} 个太小而看不见（${time}）`,
  toOperator: "算子",
};
