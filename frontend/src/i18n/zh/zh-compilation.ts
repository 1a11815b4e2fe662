// Chinese texts of en/pages/compilation.
import type * as english from "../en/pages/compilation";
import { count } from "../count";
import type { Translation } from "../translation";

export const compilation: Translation<typeof english.compilation> = {
  title: "编译",
  note: (compilations, again, breaks) =>
    `${count(compilations)} 次编译，其中 ${count(again)} 次为重新编译；${count(breaks)} 处图中断`,
  time: (all, inside, inStep) =>
    `编译器共运行 ${all}，其中 ${inside} 在${inStep ? "所选迭代" : "本次采集"}内。`,
  failures: (failures) => `${count(failures)} 次编译没有产生代码：这样的函数不经编译器运行。`,
  caches: (hits, misses, bypasses) =>
    `图缓存：命中 ${count(hits)} 次，未命中 ${count(misses)} 次${bypasses ? `，绕过 ${count(bypasses)} 次` : ""}。`,
  noLog: "只知道已编译代码的调用。请把 TORCH_TRACE 设为记录所在的文件夹：函数、原因和编译时间来自其日志。",
  phases: {
    phase: "阶段",
    time: { title: "时间", help: "不含下一阶段的时间。" },
    compilations: "编译次数",
    names: {
      dynamo: "Dynamo：跟踪 Python，生成守卫",
      aot: "AOTAutograd：前向与反向的图，或从缓存加载",
      inductor: "Inductor：降级与调度",
      codegen: "内核：生成并构建",
    },
  },
  breaks: {
    title: (breaks) => `${count(breaks)} 处图中断`,
    place: "位置",
    function: "函数",
    reason: { title: "原因", help: "展开可查看 torch 的说明与建议。" },
    calls: { title: "调用次数", help: "所选迭代或整个采集中被中断代码的调用次数。" },
  },
  skips: (skips) => `${count(skips)} 个图未使用 CUDA Graph 运行`,
  code: { noun: "次编译", nouns: "次编译" },
  leftOut: (rows) => `另有 ${count(rows)} 项未显示。`,
  backward: "反向",
  columns: {
    id: { title: "编号", help: "函数代码的编号，以及其编译的编号；← 表示反向。" },
    function: { title: "函数" },
    reason: { title: "重新编译的原因", help: "失败的守卫；提示中有之前各次编译的守卫。" },
    failure: { title: "没有产生代码", help: "原因；该函数之后不经编译器运行。" },
    total: { title: "编译时间" },
    inside: { title: "部分内", help: "编译时间中位于所选迭代或整个采集内的部分。" },
    dynamo: { title: "Dynamo 跟踪" },
    aot: { title: "AOT 图", help: "AOTAutograd，或从缓存加载。" },
    inductor: { title: "Inductor 降级" },
    codegen: { title: "内核" },
    cache: { title: "缓存", help: "其图的缓存。" },
    guards: { title: "守卫", help: "每次调用都要检查。" },
    operators: { title: "算子", help: "图中的算子。" },
    breaks: { title: "中断" },
    calls: { title: "调用次数", help: "链接在时间线中显示第一次调用。" },
    call: { title: "调用时间", help: "主机上的调用时间，不含编译。" },
    outside: {
      title: "图外时间",
      help: "调用时间中位于已编译图之外的部分：包装代码，以及图中断之后的 Python。",
    },
  },
  cached: { hit: "命中", miss: "未命中", bypass: "绕过" },
};
