import type { Flame } from "../../../api/types";
import { count } from "../../count";
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
    kernel: "kernel",
    memcpy: "memcpy",
    memset: "memset",
    communication: "通信",
    unknown: "启动者未知",
  },
  showAll: "显示全部",
  time: "时间",
  device: { label: "设备时间", title: "其中下发的活动的时间" },
  noDevice: "此 trace 没有设备时间。",
  host: { label: "主机时间", title: "从调用到返回" },
  show: "显示",
  everything: "全部",
  everythingHelp: (frames) =>
    frames ? "Python 栈帧、模块、算子" : "采集此 trace 时没有记录 Python 栈帧（with_stack=True）。",
  operators: { label: "算子", title: "不含 Python 栈帧" },
  modules: "模块",
  modulesHelp: (modules) => (modules ? "仅模块" : "没有记录模块：仅标注"),
  eachModule: "各个模块",
  byClass: { label: "按类", title: "同一类的模块合为一格" },
  find: "查找   ( / )",
  findHelp: "在火焰图中查找",
  found: (share) => `找到 ${share}`,
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
      {total}（{share}），自身 {self}，{count(calls)} 次调用
    </>
  ),
  merged: (n, time) => `，内部有 ${count(n)} 个太小而看不见（${time}）`,
  toOperator: "算子",
};
