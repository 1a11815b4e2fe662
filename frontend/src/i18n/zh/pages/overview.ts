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
  ofSpan: (share) => `占设备活动跨度的 ${share}`,
  busy: { label: (step) => ofStep("繁忙", step), help: "至少有一个设备活动在运行：所有流的并集。" },
  idle: {
    label: (step) => ofStep("空闲", step),
    help: "在第一个与最后一个设备活动之间没有活动在运行的时间。",
  },
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

export const idleTime: Translation<typeof english.idleTime> = {
  causes: {
    host_operator: { label: "主机算子", help: "主机正在算子或运行时调用中，尚未下发任何活动。" },
    host_code: { label: "主机代码", help: "下发线程正在 Python 或标注中，不在任何算子内。" },
    data_loader: { label: "数据加载", help: "主机在等待下一批数据。" },
    synchronisation: { label: "同步", help: "主机正在一个等到设备完成才返回的调用中：无法提前下发。" },
    communication_wait: { label: "通信等待", help: "主机在等待其他 rank：gloo、barrier、等待张量。" },
    launch_latency: {
      label: "下发延迟",
      help: "下一个活动已下发但尚未开始：设备自身的延迟，或其他流的延迟。",
    },
    unknown: { label: "未知", help: "没有记录可以说明原因。" },
    other_step: { label: "其他迭代在运行", help: "在此迭代的活动之间，有其他迭代的活动在运行。" },
  },
  title: "空闲时间",
  titleNote: (step, whole, inferred) =>
    `${step === null ? "整个采集" : `迭代 ${step}`}：${whole}，按设备等待的原因${inferred ? "；与设备时间一样为推断值" : ""}`,
  never: "从第一个到最后一个活动，设备从未空闲。",
  share: (cause, share) => `${cause} ${share}`,
  shares: (causes) => `空闲时间的原因：${causes.join("，")}`,
  part: (cause, time, share) => `${cause}：${time}，${share}`,
  cause: "原因",
  idle: "空闲",
  ofTotal: "占比",
  stretches: "段数",
  stretchesHelp: "由多少段时间组成。",
  longest: "最长",
  longestHelp: "点击在时间线中打开。",
  before: "在哪个算子之前",
  beforeHelp: "其活动结束了等待的算子。",
  gaps: "间隙数",
  noOperator: "没有算子",
  bySteps: "各迭代的空闲时间",
  byStepsNote: "在迭代的时间窗口内",
  stepNoun: { noun: "迭代", nouns: "迭代", label: "各迭代的空闲时间" },
  step: "迭代",
  idleOfStep: {
    title: "空闲",
    help: "设备上没有活动在运行；各原因之和等于它。点击链接在时间线中显示该迭代。",
  },
};
