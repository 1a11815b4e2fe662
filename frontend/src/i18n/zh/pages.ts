import type { pages as english } from "../en/pages";

export const pages: typeof english = {
  overview: "概览",
  advice: "建议",
  whatif: "假设分析",
  timeline: "时间线",
  operators: "算子",
  kernels: "Kernel",
  memory: "内存",
  modules: "模块",
  flame: "火焰图",
  distributed: "分布式",
  diff: "对比",
  quality: "数据质量",
  method: "推断方法",
  sql: "SQL",
  about: "关于此 trace",
};
