// Chinese texts of en/pages/shared.
import { count } from "../../count";
import type * as english from "../../en/pages/shared";
import type { Translation } from "../../translation";

export const timelineSource: Translation<typeof english.timelineSource> = {
  evidence: {
    measured: { label: "实测", meaning: "开始与结束由设备自身的 profiler 记录。" },
    events: { label: "事件间隔", meaning: "设备落后于主机，因此算子两个事件之间的时间就是设备时间。" },
    end_pinned: {
      label: "结束已定",
      meaning: "设备在该算子内追上了主机：结束时刻比开始时刻准确。",
    },
    catalogue: { label: "同类调用", meaning: "时长取自同一算子的其他调用。" },
    sync: { label: "同步", meaning: "结束时刻取自等待设备的主机调用。" },
    bound: { label: "仅知界限", meaning: "只知道界限：在其下发之后、下一个已知事件之前。" },
  },
  explained: {
    measured: {
      label: "实测",
      meaning: "设备时间为实测：设备 profiler 记录了每个活动的始末。图中以实心表示。",
      way: "如何得知",
    },
    inferred: {
      label: "推断",
      meaning:
        "设备时间为推断：由主机时间、每个算子的两个事件之间经过的设备时间，以及流内的顺序推出。" +
        "图中以斜线表示，仅知界限的以空心表示；± 表示可能的偏差。",
      way: "如何推断，以及精度受何限制",
    },
    none: {
      label: "仅主机",
      meaning: "trace 中只有主机时间。由此无法得知设备的情况。",
      way: "原因与改法",
    },
  },
  inferredWithin: (bound) => `推断 ${bound}`,
  notKnown: "未知",
  exact: "精确",
  unknown: "未知",
  columns: {
    evidence: "证据",
    activities: "活动数",
    deviceTime: "设备时间",
    share: "占设备时间",
    startTypical: "开始（典型）",
    startTypicalHelp: "开始时刻误差界的中位数。",
    startLargest: "开始（最大）",
    durationTypical: "时长（典型）",
    durationTypicalHelp: "时长误差界的中位数。",
    durationLargest: "时长（最大）",
    unbounded: "无界",
    unboundedHelp: "无从得知其开始时刻可能偏差多少的活动。",
  },
  yourSteps: "你的迭代，每次迭代后调用 prof.step()",
};

export const dataWarnings: Translation<typeof english.dataWarnings> = {
  severities: { error: "错误", warning: "警告", info: "提示" },
  summary: (errors, warnings, notes) =>
    [errors && `${count(errors)} 个错误`, warnings && `${count(warnings)} 个警告`]
      .filter(Boolean)
      .join("，") || (notes > 0 ? `${count(notes)} 个提示` : "数据正常"),
  more: (n) => `另有 ${count(n)} 个疑点。`,
  quality: "数据质量",
  method: "方法",
  without: (streams: string) => `不含 ${streams}`,
  missing: (streams: string) => `设备时间为下界，空闲时间为上界：${streams} 的工作没有时间。`,
};

export const loadStates: Translation<typeof english.loadStates> = {
  phases: {
    waiting: "正在排队，或等待另一个正在读取它的服务器",
    reading: "正在读取 trace",
    inferring: "正在构建时间线",
    computing: "正在计算页面内容",
    storing: "正在保存结果",
  },
  canceled: "读取已取消",
  canceledWhy: "trace 没有读完，因此没有内容可显示。",
  readAgain: "重新读取",
  loading: "正在加载…",
  bytesRead: "已读取字节",
  ranks: (done, all) => `${count(done)} / ${count(all)} 个 rank`,
  bytes: (done, all) => `${done} / ${all}`,
  events: (events) => `${count(events)} 个事件`,
  soFar: (seconds) => `已用 ${seconds} s`,
  left: (seconds) => `约剩 ${count(seconds)} s`,
  cancel: "取消",
  retry: "重试",
  firstRun: "显示第一个运行",
  steadyWindow: "显示稳定窗口",
  noFindings: "无：没有需要修复或舍弃的内容。",
};

export const onDemand: Translation<typeof english.onDemand> = {
  hint: "服务器已停止，或已更新。重试会重新加载整个页面。",
};

export const eventLink: Translation<typeof english.eventLink> = {
  title: (name, thread, start) => `${name}\n${thread}\n采集开始后 ${start}\n显示其记录`,
  noName: "（无名称）",
  at: (thread, start, note) => `${thread}，位于 ${start}${note ? `，${note}` : ""}`,
};

export const noDeviceTimes: Translation<typeof english.noDeviceTimes> = {
  noDeviceTimes: "该 trace 中没有设备时间。",
  hostOnly: "该 trace 中只有主机活动。",
  cpuAlone: "如果本次运行只用了 CPU，则没有缺失任何内容。",
  deviceAfterAll: "确实用了设备？",
  notRecorded: "那么设备活动没有被采集。用以下代码即可采集：",
  why: "默认情况下，torch.profiler 在 PrivateUse1 设备上只记录主机时间：它从不调用后端的 ProfilerStubs，因此 trace 中没有任何设备时间。",
  changeCapture: "将采集代码改为以下几行，参数与 torch.profiler.profile 相同：",
  captureLines: "能记录设备时间的代码",
  follows: "以下内容是主机的活动。",
};

export const partialRecording: Translation<typeof english.partialRecording> = {
  snapshot_alone: "分配了哪些内存、由哪一行分配，见“内存”页面。",
  memory_timeline_alone: "内存的分配见“内存”页面；按类别的总和见“计数器”页面。",
  flight_recorder_alone: "哪个 rank 没有参加哪个集合通信，见“Rank”页面。",
  no_events: "该文件的已知信息见“采集信息”页面。",
  nothing_read: "该文件的已知信息见“采集信息”页面。",
};

export const selectorChoices: Translation<typeof english.selectorChoices> = {
  ranks: (n) => `${count(n)} 个 rank`,
  steady: "稳定部分",
  all: "全部",
  noSteps: "没有迭代",
  incomplete: (duration) => `${duration} 不完整`,
};

export const stepLink: Translation<typeof english.stepLink> = {
  listed: (listed, all) => `列出 ${count(all)} 个迭代中的 ${count(listed)} 个`,
  title: (name) => `${name}\n在时间线中显示`,
};

export const topFindings: Translation<typeof english.topFindings> = {
  title: "优先改进",
  titleNote: "以及可节省的时间",
  looking: "正在查找可以加快之处…",
  failed: (message) => `无法显示问题：${message}`,
  retry: "重试",
  nothing: "没有发现问题。",
  noSaving: "没有发现已知可节省时间的问题。",
  looked: "检查了哪些规则",
  others: (n) => `其他 ${count(n)} 个问题`,
  all: (n) => `全部 ${count(n)} 个问题`,
  why: "原因与改进方法",
  ofSteps: (time) => `所评估的迭代中的 ${time}`,
  perStep: (time) => `每次迭代 ${time}`,
};

export const cards: Translation<typeof english.cards> = {
  totals: "设备总计",
  totalsNote: (step) => `${step === null ? "整个采集过程" : `迭代 ${step}`}，占时间窗口的比例`,
  rows: {
    compute: { label: "计算（总计）", title: "至少有一个通信以外的 kernel 在运行。" },
    communication: {
      label: "通信（总计）",
      title: "至少有一个通信 kernel 在运行。未掩盖的部分列在时间分类中。",
    },
    overlap: { label: "两者重叠", title: "计算与通信同时进行。" },
    memcpy: {
      label: "拷贝（总计）",
      title: "至少有一次拷贝在运行。未掩盖的部分列在时间分类中。",
    },
    memset: {
      label: "填充（总计）",
      title: "至少有一次填充在运行。未掩盖的部分列在时间分类中。",
    },
    unknown: {
      label: "启动者未知（总计）",
      title: "标记在等待设备，而没有已知算子下发其工作，例如图的重放。",
    },
  },
  linked: (linked, unlinked) =>
    `${linked} 个活动已关联到下发它的算子${unlinked ? `，${count(unlinked)} 个未关联` : ""}。`,
};
