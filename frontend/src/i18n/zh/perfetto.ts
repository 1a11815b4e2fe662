import type { perfetto as english } from "../en/perfetto";

export const perfetto: typeof english = {
  noWindow: "浏览器没有打开窗口。请允许此页面弹出窗口，然后重试。",
  closed: "其窗口已关闭。",
  noAnswer: "Perfetto 的页面没有响应。网络是否可用？",
  title: (run, rank, span) => `${run} rank ${rank} 采集段 ${span}`,
};
