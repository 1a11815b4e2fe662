import type { color as english } from "../en/color";

export const color: typeof english = {
  kernel: "Kernel",
  memcpy: "Memcpy",
  memset: "Memset",
  communication: "通信",
  runtime: "运行时",
  dataloader: "数据加载",
  cpu: "CPU",
  other: "其他",
};
