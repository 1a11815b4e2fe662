import type { source as english } from "../../en/pages/shared";

export const source: typeof english = {
  evidence: {
    measured: { label: "实测", meaning: "开始与结束由设备自身的 profiler 记录。" },
    events: { label: "事件间隔", meaning: "设备落后于主机，因此算子两个事件之间的时间就是设备时间。" },
    end_pinned: { label: "结束已定", meaning: "设备在该算子内追上了主机：结束时刻较准确，开始时刻较不准确。" },
    catalogue: { label: "同类调用", meaning: "时长取自同一算子的其他调用。" },
    sync: { label: "同步", meaning: "结束时刻取自等待设备的主机调用。" },
    bound: { label: "仅知界限", meaning: "只知道界限：在其下发之后、下一个已知事件之前。" },
  },
  explained: {
    measured: {
      label: "实测",
      meaning: "设备时间为实测：设备 profiler 记录了每个活动的开始与结束。图中以实心表示。",
      way: "如何得知",
    },
    inferred: {
      label: "推断",
      meaning: "设备时间为推断：trace 中有主机时间，以及每个算子的两个事件之间在设备上经过的时间；开始与结束由此以及各个流内的顺序推出。"
        + "图中以斜线表示，仅知界限的以空心表示；数字为斜体，± 表示可能偏差多少。",
      way: "如何推断，以及精度受何限制",
    },
    none: {
      label: "仅主机",
      meaning: "trace 中只有主机时间。由此无法得知设备的任何情况，也不作任何臆造。",
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
    share: "占比",
    startTypical: "开始（典型）",
    startTypicalHelp: "开始时刻误差界的中位数。",
    startLargest: "开始（最大）",
    durationTypical: "时长（典型）",
    durationTypicalHelp: "时长误差界的中位数。",
    durationLargest: "时长（最大）",
    unbounded: "无界",
    unboundedHelp: "无从得知其开始时刻可能偏差多少的活动。",
    meaning: "含义",
  },
  yourSteps: "你的迭代，每次迭代后调用 prof.step()",
};
