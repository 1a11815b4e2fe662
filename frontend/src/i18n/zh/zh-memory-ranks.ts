// Chinese texts of en/pages/memory-ranks.
import type * as english from "../en/pages/memory-ranks";
import type { Translation } from "../translation";

export const memoryRanks: Translation<typeof english.memoryRanks> = {
  title: "各 rank 的峰值",
  ofStep: (step) => `在 ${step} 中`,
  ofRecording: "整个记录，按类别",
  rank: "Rank 号",
  split: { title: "按类别", help: "峰值时存活的内存，占最高峰值的比例。" },
  peak: { title: "峰值", help: "分配器报告的最大总分配量，针对整个记录或该迭代。" },
  above: { title: "超出最低值", help: "比峰值最低的 rank 多出的部分。" },
  reserved: { title: "保留", help: "分配器保留的最大值。" },
  capacity: { title: "占设备内存", help: "峰值占设备全部内存的比例。" },
  step: { title: "所在迭代", help: "按时间，峰值所在的迭代；不在任何迭代内时为空。" },
  without: (ranks) => `未参与比较（没有内存总量）：rank ${ranks.join(", ")}。`,
  more: (left) => `另有 ${left} 个 rank 的峰值更低，见 CSV。`,
};
