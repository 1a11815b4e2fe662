// Chinese texts of en/pages/overview.
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
  listed: (first, last, all) => `列出第 ${count(first)} 至 ${count(last)} 个迭代，共 ${count(all)} 个。`,
  allCount: "平均值和其他数值仍按所有迭代计算。",
  before: "上一批迭代",
  after: "下一批迭代",
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

export const recordingLine: Translation<typeof english.recordingLine> = {
  phases: "采集的各阶段",
  rest: "其余部分",
  parts: (phases) => `共 ${count(phases)} 段`,
  kinds: {
    capture: "图捕获",
    compilation: "编译",
    startup: "启动",
    drain: "排空此前的工作",
    profiler_stop: "profiler 停止",
    steady: "稳定",
  },
};

export const verdictLine: Translation<typeof english.verdictLine> = {
  longest: "时间线上最长的一段",
};

export const averages: Translation<typeof english.averages> = {
  title: "平均迭代",
  of: (steps) => `${count(steps)} 个完整迭代`,
  save: "下载平均值，含精确值（ns）",
  part: "部分",
  mean: "平均",
  share: "占迭代",
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
    single: "迭代",
    iteration: "平均迭代",
    ofIterations: "按重复的迭代",
    note: (deviation, least, most, steps) => `σ ${deviation}，${least} 至 ${most}，${steps}`,
    part: (averaged, steps) => `${steps}中的 ${count(averaged)} 个`,
    help: "完整迭代的平均时长，及其标准差与最小、最大值。",
  },
  utilization: {
    label: (step) => (step === null ? "设备利用率" : ofStep("利用率", step)),
    note: "迭代内的繁忙占比",
    noteOfSteady: "稳定部分内的繁忙占比",
    noteOfAll: "采集期间的繁忙占比",
    noteOfPhase: "该阶段内的繁忙占比",
    help: "窗口内设备的繁忙时间占窗口的比例。",
  },
  smEfficiency: {
    label: (step) => ofStep("SM 效率", step),
    note: (occupancy) => `占用率 ${occupancy}`,
    help: "迭代内有线程块驻留的多处理器占比；以及按时长加权的 kernel 占用率。两者均由 CUPTI 根据下发配置估算。",
  },
  between: (range) => `（${range}）`,
  kernels: {
    label: (step) => ofStep("Kernel", step),
    unit: "个 kernel",
    others: (communication, memcpys, memsets, unknown) =>
      [
        communication ? `${count(communication)} 个通信` : "",
        memcpys ? `${count(memcpys)} 个 memcpy` : "",
        memsets ? `${count(memsets)} 个 memset` : "",
        unknown ? `${count(unknown)} 个启动者未知` : "",
      ]
        .filter(Boolean)
        .join("，"),
    help: "设备上不属于通信的 kernel；设备上的其他活动列在下方。",
  },
  recording: {
    label: "采集时长",
    steps: (n) => (n === 0 ? "没有采集迭代" : `${count(n)} 个迭代`),
    help: "从第一个事件到最后一个事件。",
  },
};

export const timeAccount: Translation<typeof english.timeAccount> = {
  title: "时间账目",
  window: (step, steps, steady, time) =>
    step !== null
      ? `迭代 ${step}，${time}`
      : steps > 0
        ? `${count(steps)} 个${steady ? "稳定的" : ""}迭代，${time}`
        : `${steady ? "稳定部分" : "整个采集过程"}，${time}`,
  ofDevice: (device, window) => `设备 ${device}，${window}`,
  idle: (window, time, share, range) => `${window}：空闲 ${time}，${share}${range && `（${range}）`}`,
  groups: {
    device: "设备在运行",
    blocked: "主机阻塞",
    host: "主机在工作",
    queue: "在队列中",
    outside: "采集之外",
  },
  devices: "设备",
  all: "全部",
  allHelp: "只要任一设备在运行，就算设备在运行",
  device: (device) => `设备 ${device}`,
  share: (label, share) => `${label} ${share}`,
  shares: (shares) => `占时间窗口的比例：${shares.join("，")}`,
  part: (label, time, share, range, meaning) =>
    `${label}：${time}，${share}${range && `（${range}）`}\n${meaning}`,
  exactly: (time, range) => (range ? `${time}，${range}` : time),
  class: "分类",
  time: "时间",
  ofWindow: "占窗口",
  ofWindowHelp: "占时间窗口的比例。",
  range: "范围",
  rangeHelp: "推断时间所允许的最小与最大占比。",
  onPath: "在关键路径上",
  onPathHelp: "占平均 step 的比例：关键路径中属于该类别的部分。缩短其他部分不会有收益。",
  small: (classes, share) => `${count(classes)} 个低于 1 % 的类别：${share}`,
  fold: "收起低于 1 % 的类别",
  stretches: "段数",
  stretchesHelp: "时间段的个数。",
  longest: "最长",
  longestHelp: "最长的一段；点击链接在时间线中显示。",
  names: "名称",
  largest: "最长的各段",
  place: "位置",
  function: "函数",
  duration: "时长",
  timeline: "时间线",
  show: "在时间线中显示",
  noEvent: "没有事件",
};

export const hotspots: Translation<typeof english.hotspots> = {
  title: "时间的去向",
  note: {
    device: (whole) => spaced("设备时间，占", whole, "的百分比；并行的流分别计入"),
    host: (whole) => spaced("算子的主机时间，占", whole, "的百分比；各线程分别计入"),
  },
  by: "行",
  groups: {
    operator: { label: "算子", title: "按算子", without: "没有上级算子" },
    kernel: { label: "Kernel", title: "按 kernel", without: "没有 kernel" },
    module: { label: "模块类", title: "按最内层模块的类", without: "不在任何模块中" },
    function: { label: "函数", title: "按已知库以外最内层的函数", without: "没有函数" },
    annotation: { label: "标注", title: "按最内层的标注", without: "没有标注" },
  },
  none: "这些迭代中没有任何活动。",
  events: (name, events, measure) =>
    `${name}\n${count(events)} ${measure === "device" ? "个活动" : "次调用"}`,
  others: (rows, share) => `另外 ${count(rows)} 行：${share}`,
  functionShare: (share) => `耗时最多的函数：占这段时间的 ${share}`,
  otherFunctions: "及其他函数",
};

export const rooflineThumbnail: Translation<typeof english.rooflineThumbnail> = {
  page: "屋顶线",
  title: (points) => `Roofline：上限之下的 ${count(points)} 个 kernel。打开页面`,
  axes: "纵轴 FLOP/s，横轴 FLOP/byte：折线为上限",
};

export const idleBefore: Translation<typeof english.idleBefore> = {
  title: "算子之前的空闲时间",
  note: "按结束空闲的活动所属的算子",
  operator: "算子",
  operatorHelp: "由其活动结束空闲的算子。",
  idle: "空闲",
  share: "占空闲时间",
  shareHelp: "占时间窗口内全部空闲时间的比例。",
  gaps: "间隔数",
  longest: "最长",
  longestHelp: "最长的间隔；点击链接在时间线中显示。",
  noOperator: "没有算子",
};

export const deviceUse: Translation<typeof english.deviceUse> = {
  title: "设备峰值的利用",
  throughput: "吞吐量",
  noSteps: "所分析的时间",
  allFlops: "模型 FLOP",
  note: (step) => (step === null ? "完整迭代" : spaced(`迭代 ${step}`)),
  rows: {
    mfu: {
      label: "MFU",
      help: "模型 FLOPs 利用率：模型所需的矩阵乘积的运算次数除以峰值，占迭代时间的比例。",
    },
    hfu: { label: "HFU", help: "硬件 FLOPs 利用率：同上，并计入激活检查点重新计算的矩阵乘积。" },
    product_flops: {
      label: "每次迭代的模型 FLOP",
      help: "平均每次迭代中矩阵乘积、卷积与注意力的运算次数。",
    },
    samples_per_s: {
      label: "每秒样本数",
      help: "本 rank 的：每次前向传播中首个算子的第一维，除以迭代时间。",
    },
    tokens_per_s: {
      label: "每秒 token 数",
      help: "本 rank 的：在最大的嵌入表中查找的索引数，除以迭代时间。",
    },
  },
};
