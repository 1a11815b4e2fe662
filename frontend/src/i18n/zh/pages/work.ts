// Chinese texts of en/pages/work.
import type * as english from "../../en/pages/work";
import type { Translation } from "../../translation";

export const work: Translation<typeof english.work> = {
  columns: {
    flops: {
      title: "运算次数",
      help: "其设备活动（在 CPU 上为算子自身）的运算次数，由输入形状得出。为空：没有模型。",
    },
    totalFlops: { title: "总运算次数", help: "包含它所调用的算子的运算次数。" },
    bytes: { title: "字节数", help: "同样的工作必须读写的字节数。" },
    flopRate: { title: "算力 TFLOP/s", help: "运算次数除以运算次数已知的工作的时间。" },
    byteRate: { title: "带宽 GB/s", help: "字节数除以字节数已知的工作的时间。" },
    intensity: { title: "算术强度", help: "算术强度：每字节的运算次数。" },
    roofShare: { title: "占上限", help: "设备所允许的最短时间占实际时间的比例。" },
    aboveRoof: { title: "超出上限", help: "超出设备所允许最短时间的部分。" },
  },
  modeled: (share) => `${share} 的工作量已知`,
  modeledHelp: (roof) => `运算次数与字节数有模型的设备时间占比（不含通信）。${roof}这些列在列菜单中。`,
  roofs: {
    data_sheet: "上限取自数据手册。",
    user_file: "上限取自您的厂商文件。",
    best_seen: "上限为本次记录中的最佳速率。",
    none: "没有已知的上限。",
  },
  roofsOf: {
    data_sheet: (types) => `${types} 的上限取自数据手册。`,
    user_file: (types) => `${types} 的上限取自您的厂商文件。`,
    best_seen: (types) => `${types} 的上限为本次记录中的最佳速率。`,
  },
  withoutUnit: (type) => `${type}（不用矩阵单元）`,
};
