import { count } from "../../count";
import type { figures as english } from "../../en/pages/overview";

const ofStep = (what: string, step: number | null): string => (step === null ? what : `${what}，迭代 ${step}`);

export const figures: typeof english = {
  share: "/ 1",
  steps: (complete, cut, primed) => `${count(complete)} 个迭代${cut > 0 ? `，${count(cut)} 个不完整` : ""}${primed > 0 ? `，${count(primed)} 个预占用` : ""}`,
  step: {
    label: (step) => `迭代 ${step}`,
    incomplete: "不完整",
    ofAverage: (share) => `平均值的 ${share}`,
    help: "所选迭代的时间窗口。",
  },
  average: {
    label: "平均迭代",
    note: (deviation, least, most, steps) => `σ ${deviation}，${least} 至 ${most}，${steps}`,
    help: "完整迭代的平均时长，及其标准差与最小、最大值。",
  },
  utilisation: {
    label: (step) => (step === null ? "设备利用率" : ofStep("利用率", step)),
    none: "没有设备时间",
    note: "迭代内的繁忙占比",
    help: "迭代时间窗口内设备的繁忙时间占这些窗口的比例。",
  },
  smEfficiency: {
    label: (step) => ofStep("SM 效率", step),
    note: (occupancy) => `占用率 ${occupancy}`,
    help: "迭代内有线程块驻留的多处理器占比；以及按时长加权的 kernel 占用率。两者均由 CUPTI 根据下发配置估算。",
  },
  ofSpan: (share) => `占设备活动跨度的 ${share}`,
  busy: { label: (step) => ofStep("繁忙", step), help: "至少有一个设备活动在运行：所有流的并集。" },
  idle: { label: (step) => ofStep("空闲", step), help: "在第一个与最后一个设备活动之间没有活动在运行的时间。" },
  kernels: {
    label: (step) => ofStep("Kernel", step),
    unit: "个 kernel",
    others: (communication, memcpys, memsets) => [
      communication ? `${count(communication)} 个通信` : "",
      memcpys ? `${count(memcpys)} 个 memcpy` : "",
      memsets ? `${count(memsets)} 个 memset` : "",
    ].filter(Boolean).join("，"),
    help: "设备上不属于通信的 kernel；设备上的其他活动列在下方。",
  },
  recording: { label: "采集时长", steps: (n) => `${count(n)} 个迭代`, help: "从第一个事件到最后一个事件。" },
};
