import type { timelineexport as english } from "../en/timelineexport";

export const timelineexport: typeof english = {
  export: "导出",
  exportHelp: "导出该 trace，或在 Perfetto 中打开",
  formats: {
    chrome: { title: "Chrome trace（JSON）格式", about: "与采集时相同，并含推断的内容；用于 chrome://tracing、Perfetto、HTA" },
    perfetto: { title: "Perfetto trace（protobuf）格式", about: "更小，含 GPU 轨道、计数器与箭头" },
    parquet: { title: "所有表格，Parquet", about: "用于 pandas、DuckDB 等；ZIP 压缩包" },
    csv: { title: "所有表格，CSV", about: "用于电子表格；ZIP 压缩包" },
  },
  what: "导出内容",
  all: "整个采集过程",
  shown: (time) => `当前显示的内容（${time}）`,
  area: (time) => `选区（${time}）`,
  opening: "正在打开…",
  given: "Perfetto 已收到该 trace。",
  inPerfetto: "在 Perfetto 中打开",
  bundled: "从此服务器打开其页面",
  bundledNote: "数据不会离开此服务器",
  public: "打开 ui.perfetto.dev",
  publicNote: "从互联网加载该页面并把 trace 交给它。trace 留在你的浏览器中：Perfetto 声明其页面不会把 trace 发送到任何地方。",
  install: () => <>没有网络时：在运行 TensorBoard 的机器上 <code>pip install 'tb-privateuse1[perfetto]'</code>。</>,
};
