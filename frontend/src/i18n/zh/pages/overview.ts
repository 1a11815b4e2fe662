import { count } from "../../count";
import { spaced } from "../../han";
import type * as english from "../../en/pages/overview";
import type { Translation } from "../../translation";

export const overview: Translation<typeof english.overview> = {
  steps: "迭代",
  step: { noun: "迭代", nouns: "迭代" },
  clickOne: "点击选中一个迭代",
  selected: (step) => `已选中迭代 ${step}`,
  showAll: "显示全部",
  noSteps: "trace 中没有迭代。",
  meaning: (word) => `此处“${word}”的含义`,
  device: "设备",
  run: "运行",
  cutOff: "被截断",
  cutOffHelp: "被采集结束截断；不计入平均。",
  primed: "预占用",
  primedHelp: "采集先让设备保持繁忙，使时长可见；不计入平均。",
  columns: {
    step: { title: "迭代" },
    start: { title: "开始", help: "相对采集开始的时间；点击链接在时间线中显示该迭代。" },
    duration: { title: "时长" },
  },
  part: (category) => spaced("该迭代中", category, "所占的部分；各部分之和等于时长。"),
  legend: "迭代时间的去向",
  average: "平均",
};

export const averages: Translation<typeof english.averages> = {
  title: "平均迭代",
  of: (steps) => `${count(steps)} 个完整迭代`,
  save: "下载平均值，含精确值（ns）",
  part: "部分",
  mean: "平均",
  share: "占比",
  shareHelp: "占平均时长的比例。",
  deviationHelp: "各迭代之间的标准差。",
  least: "最小",
  most: "最大",
  step: (step) => `迭代 ${step ?? ""}`,
  difference: "差值",
  differenceHelp: "所选迭代减去平均值。",
  whole: "迭代",
};

const ofStep = (what: string, step: number | null): string =>
  step === null ? what : `${what}，迭代 ${step}`;

export const keyFigures: Translation<typeof english.keyFigures> = {
  share: "/ 1",
  steps: (complete, cut, primed) =>
    `${count(complete)} 个迭代${cut > 0 ? `，${count(cut)} 个不完整` : ""}${primed > 0 ? `，${count(primed)} 个预占用` : ""}`,
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
  busy: { label: (step) => ofStep("繁忙", step) },
  idle: { label: (step) => ofStep("空闲", step) },
  kernels: {
    label: (step) => ofStep("Kernel", step),
    unit: "个 kernel",
    others: (communication, memcpys, memsets) =>
      [
        communication ? `${count(communication)} 个通信` : "",
        memcpys ? `${count(memcpys)} 个 memcpy` : "",
        memsets ? `${count(memsets)} 个 memset` : "",
      ]
        .filter(Boolean)
        .join("，"),
    help: "设备上不属于通信的 kernel；设备上的其他活动列在下方。",
  },
  recording: { label: "采集时长", steps: (n) => `${count(n)} 个迭代`, help: "从第一个事件到最后一个事件。" },
};
