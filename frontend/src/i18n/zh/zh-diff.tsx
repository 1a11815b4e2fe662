// Chinese texts of en/pages/diff.
import type { Diff } from "../../api/types";
import { count } from "../count";
import { spaced } from "../han";
import type * as english from "../en/pages/diff";
import type { Translation } from "../translation";

const KINDS: Record<Diff["by"], string> = {
  operators: "算子",
  shapes: "算子（按输入形状）",
  kernels: "kernel",
  modules: "模块",
  annotations: "标注",
};
const TIMES: Record<Diff["time"], string> = { device: "设备时间", host: "主机时间" };

export const diff: Translation<typeof english.diff> = {
  verdicts: {
    longer: "变长",
    shorter: "变短",
    within_noise: "波动范围内",
    within_bound: "误差界内",
    same: "无变化",
    unknown: "不确定",
  },
  statuses: { both: "", new: "新增", gone: "消失" },
  noDefault: "请选择基准。",
  refused: (run, why) => `最近的运行是 ${run}。${why}`,
  otherDevice: (base, now) => `其设备为 ${base}，当前为 ${now}。`,
  anyway: (run) => `仍与 ${run} 比较`,
  nothing: "没有可对比的 trace",
  oneTrace: (choose) => (
    <>此 logdir 中只有一个 trace。请将另一次运行的目录放入其中，或者对比两个迭代：{choose("选择迭代")}。</>
  ),
  commandLine: (command) => <>在命令行中，两个 trace 可以位于任何位置：{command}。</>,
  comparedWith: "对比",
  ranksDiffer: (now, base) =>
    `Rank 不同：rank ${now} 与 rank ${base} 对比。同一任务的各个 rank 可能工作不同。`,
  run: "运行",
  rank: "Rank",
  span: "采集段",
  step: "迭代",
  all: "全部",
  swap: "互换",
  onTimeline: "在时间线上并列",
  onTimelineHelp: "基准在上，所选记录在下，按迭代的开始对齐",
  swapHelp: "将基线与被对比的一方互换",
  baseReason: (kind, same) => {
    if (kind === "span") return "默认：前一个采集段";
    if (kind === "rank") return "默认：另一个 rank，因为没有其他运行";
    const kept = [same.rank && "rank 相同", same.group && "目录相同", same.worker && "worker 相同"];
    const shown = kept.filter(Boolean).join("，");
    const run = kind === "earlier" ? "按日期的前一次运行" : "按日期的后一次运行，因为没有更早的";
    return `默认：${run}${shown && `（${shown}）`}`;
  },
  account: "时间账目的变化",
  parts: "迭代变化的构成",
  partsNote: "平均值；各部分之和等于总变化",
  largest: "最大的变化",
  largestNote: (by, time) => `${spaced("各", KINDS[by])}，按每个迭代的${TIMES[time]}`,
  none: (rows) => (rows ? "没有变化：两者相同。" : "没有变化：没有可对比的内容。"),
  steps: (n) => (n === 1 ? "1 个迭代" : `${count(n)} 个迭代的平均值`),
  base: { label: "基线迭代", help: "基线中完整迭代的平均值。" },
  now: { label: "迭代", help: "被对比一方的完整迭代的平均值。" },
  change: { label: "变化", help: "两者之差。" },
  total: {
    label: (time) => `${TIMES[time]}的变化`,
    help: (base, now) => `每个迭代从 ${base} 变为 ${now}：表格中所有行之和`,
  },
  bySpread: (error, test = null) =>
    `± ${error}（${test === "paired" ? "对应迭代之差的波动" : "迭代间的波动"}）`,
  byBounds: (error) => `± ${error}（误差界）`,
  said: (parts) => parts.join("，"),
  fromTo: (what, base, now, said) => `${what}：从 ${base} 变为 ${now}，${said}`,
};

export const diffWhy: Translation<typeof english.diffWhy> = {
  title: "迭代为何变化",
  note: "每个迭代；与其余部分之和等于总变化",
  unsure: "（迭代间的波动未知）",
  rest: (parts, noise) =>
    `其余：${count(parts)} 个部分变化很小，或在波动范围内${noise === null ? "" : `（± ${noise}）`}。`,
  sum: "迭代的变化",
  head: { change: "变化", reason: "原因", share: "占总变化" },
  shareHelp: "占迭代变化的比例。",
  row: "对比",
  eventInBase: "在基线中查看",
  eventInNew: "在新的运行中查看",
  accountOfBase: "基线的时间账目",
  accountOfNew: "新运行的时间账目",
  conditions: {
    rank: "rank",
    world_size: "rank 数量",
    host: "主机",
    device: "设备",
    vendor: "厂商",
    torch: "torch 版本",
    workload: "工作类型",
    batch: "批大小",
    timeline: "设备时间",
    stacks: "with_stack（调用栈）",
    shapes: "record_shapes（形状）",
    memory: "profile_memory（内存）",
    steps: "对比的迭代数",
  },
  condition: (name, base, now) => `${name} ${base} → ${now}`,
  differ: (all) => `两次采集的差别：${all.join("；")}。`,
  parameter: {
    title: "不同的参数",
    note: "运行的超参数、元数据与环境",
    name: "参数",
    base: "基准",
    now: "新",
    more: (left) => `其余 ${left} 个见 CSV。`,
  },
  values: {
    on: "开",
    off: "关",
    measured: "测量",
    inferred: "推断",
    none: "无",
    training: "训练",
    inference: "推理",
    serving: "服务",
  },
};

export const diffMemory: Translation<typeof english.diffMemory> = {
  verdicts: { more: "增加", less: "减少", within_noise: "波动范围内", same: "无变化", unknown: "不确定" },
  figures: {
    peak: { title: "峰值", help: "一个迭代中已分配内存的最大值，取平均。" },
    peak_reserved: { title: "已预留峰值", help: "一个迭代中分配器持有内存的最大值，取平均。" },
    at_end: { title: "迭代结束时", help: "迭代结束时已分配的内存，取平均。" },
    growth: { title: "每个迭代的增长", help: "迭代结束时已分配的内存减去上一个迭代结束时的，取平均。" },
    allocated: { title: "每个迭代的分配量", help: "一个迭代中所有分配之和，取平均。" },
    allocations: { title: "每个迭代的分配次数", help: "分配的次数，取平均。" },
    recording_peak: {
      title: "整个采集的峰值",
      help: "任何时刻已分配内存的最大值；两者各只有一个值，因此无法区分偶然波动。",
    },
  },
  peakOf: (device) => `${device} 的峰值`,
  peakHelp: "一个迭代中已分配内存最大值的变化，取平均。",
  onlyBase: "只有基线中有",
  onlyNow: "只有被对比一方中有",
  peakNote: (base, now, verdict) => `${base} → ${now}，${verdict}`,
  none: (option) => <>两个 trace 都没有内存事件：采集时请设置 {option}。</>,
  figureNoun: { noun: "项指标", nouns: "项指标" },
  operatorNoun: { noun: "算子", nouns: "算子" },
  figure: "指标",
  device: "设备",
  base: { title: "基线", help: "基线中每个迭代的值。" },
  now: { title: "新", help: "被对比一方的同一数值。" },
  change: { title: "变化", help: "当前值减去基线值。" },
  relative: { title: "相对变化", help: "变化占基线的比例。" },
  certainty: { title: "显著性", help: "变化是否超出迭代间的波动（99 %）。" },
  noise: { title: "± 波动", help: "由于迭代间的波动，变化可能偏差多少。" },
  operator: { title: "算子", help: "分配所在的最内层算子，只做分配的算子除外。" },
  allocatedBase: { title: "基线", help: "基线中它在每个迭代分配的内存。" },
  baseCount: { title: "基线分配次数", help: "基线中每个迭代的分配次数。" },
  count: { title: "分配次数", help: "每个迭代的分配次数。" },
};

export const diffTables: Translation<typeof english.diffTables> = {
  table: "表格",
  time: "时间",
  device: "设备",
  host: "主机",
  shown: {
    operators: { label: "算子" },
    shapes: { label: "形状", title: "按名称与输入形状列出算子" },
    kernels: { label: "Kernel" },
    modules: { label: "模块" },
    annotations: { label: "标注", title: "record_function 的区间" },
    flame: { label: "火焰图", title: "双方的调用树合为一棵，按变化着色" },
    memory: { label: "内存", title: "各设备的内存，以及按分配内存的算子" },
    steps: { label: "迭代", title: "一方的第一个迭代对应另一方的第一个，依此类推" },
  },
  nouns: {
    operators: { noun: "算子", nouns: "算子" },
    shapes: { noun: "算子", nouns: "算子" },
    kernels: { noun: "kernel", nouns: "kernel" },
    modules: { noun: "模块", nouns: "模块" },
    annotations: { noun: "标注", nouns: "标注" },
  },
  heads: { operators: "算子", shapes: "算子", kernels: "Kernel", modules: "模块", annotations: "标注" },
  stepNoun: { noun: "迭代", nouns: "迭代" },
  inputShapes: "输入形状",
  kind: "类型",
  statusHelp: "是否只有其中一方才有。",
  base: { title: "基线", help: (time) => `基线中每个迭代的${TIMES[time]}。` },
  now: { title: "新", help: "被对比一方的同一数值。" },
  change: { title: "变化", help: "每个迭代的当前值减去基线值。" },
  relative: { title: "相对变化", help: "变化占基线的比例。" },
  certainty: { title: "显著性", help: "变化是否超出迭代间的波动（99 %）与推断时间的误差界。" },
  noise: { title: "± 波动", help: "由于迭代间的波动，变化可能偏差多少。" },
  bound: { title: "± 误差界", help: "由于设备时间是推断的，变化可能偏差多少。" },
  deviceChange: { title: "设备时间变化", help: "每个迭代的设备时间的变化。" },
  hostChange: { title: "主机时间变化", help: "每个迭代的主机时间的变化。" },
  ofSide: { base: (what) => `基线 ${what}`, now: (what) => `新 ${what}` },
  baseCalls: { title: "基线调用次数", help: "每个迭代。" },
  calls: { title: "调用次数", help: "每个迭代。" },
  open: (name) => `展开 ${name}`,
  close: (name) => `收起 ${name}`,
  wasCalled: (name) => `（基线：${name}）`,
  steps: {
    base: "基线迭代",
    now: { title: "迭代", help: "点击链接在时间线中显示。" },
    change: { title: "变化", help: "当前值减去基线值。" },
  },
};

export const diffRow: Translation<typeof english.diffRow> = {
  label: (name) => `${name}：两个 trace 对比`,
  kind: "两份 trace",
  inNew: "在新运行中查看",
  inBase: "在基线中查看",
  baseName: (name) => `在基线中的名称是 ${name}。`,
  base: "基线",
  now: "新",
  change: "变化",
  time: "每个迭代的时间",
  calls: "每个迭代的调用次数",
  tflops: "算力 TFLOP/s",
  gigabytes: "带宽 GB/s",
  noise: (error) => `± ${error}（迭代间波动）`,
  bound: (error) => `± ${error}（误差界）`,
  said: (verdict, limits) => [`显著性：${verdict}`, ...limits].join("，"),
};

export const diffFlame: Translation<typeof english.diffFlame> = {
  width: "宽度",
  both: { label: "双方", title: "格宽为双方的平均：新增与移除的也可见" },
  base: { label: "基线", title: "格宽为基线中的时间" },
  now: { label: "新", title: "格宽为新运行中的时间" },
  legend: {
    gone: "已移除",
    much_shorter: "− 快 25 % 或更多",
    shorter: "− 更快",
    same: "≈ 无显著变化",
    longer: "+ 更慢",
    much_longer: "+ 慢 25 % 或更多",
    new: "新增",
  },
  empty: "双方在此处都没有时间。",
  label: (by, boxes) => `按${TIMES[by]}的差分火焰图，${boxes} 格。`,
  whole: (by, base, now) => `每个迭代的${TIMES[by]}：${base} → ${now}。`,
  perStep: (base, now) =>
    `基线 ${count(base)} 个迭代、新运行 ${count(now)} 个迭代的平均。${Math.min(base, now) < 2 ? "只有一个迭代时不知道波动：小的变化可能是偶然。" : ""}`,
  calls: (base, now) => `每个迭代 ${base} → ${now} 次调用`,
};
