import { count } from "../count";
import type { summary as english } from "../en/summary";

export const summary: typeof english = {
  totals: "设备总计",
  totalsNote: (step) => `${step === null ? "整个采集过程" : `迭代 ${step}`}，占设备活动跨度的比例`,
  noDeviceTimes: "没有设备时间。",
  rows: {
    span: { label: "活动跨度", title: "从第一个设备活动开始到最后一个设备活动结束。" },
    busy: { label: "繁忙", title: "至少有一个活动在运行。" },
    idle: { label: "空闲", title: "活动跨度减去繁忙时间。" },
    compute: { label: "计算", title: "至少有一个非通信的 kernel 在运行。" },
    communication: { label: "通信", title: "至少有一个通信 kernel 在运行。" },
    overlap: { label: "重叠", title: "计算与通信同时进行。" },
    memcpy: { label: "Memcpy", title: "至少有一个拷贝在运行。" },
    memset: { label: "Memset", title: "至少有一个填充在运行。" },
  },
  linked: (linked, unlinked) => `${linked} 个活动已关联到下发它的算子${unlinked ? `，${count(unlinked)} 个未关联` : ""}。`,
  topOperators: "耗时最多的算子",
  topKernels: "耗时最多的 kernel",
  byHostSelf: "按主机自身时间",
  byDeviceSelf: "按设备自身时间",
  byHost: "按主机时间",
  byDevice: "按设备时间",
  none: "无。",
  calls: (name, calls) => `${name}\n${count(calls)} 次调用`,
  notTold: "trace 中没有相关信息。",
};
