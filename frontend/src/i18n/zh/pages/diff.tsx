import type { Diff } from "../../../api/types";
import type { difftable as english } from "../../en/difftable";

const TIMES: Record<Diff["time"], string> = { device: "设备时间", host: "主机时间" };

export const difftable: typeof english = {
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
  now: { title: "当前", help: "被对比一方的同一数值。" },
  change: { title: "变化", help: "每个迭代的当前值减去基线值。" },
  relative: { title: "相对变化", help: "变化占基线的比例。" },
  certainty: { title: "确定性", help: "变化是否超出迭代间的波动（99 %）与推断时间的误差界。" },
  noise: { title: "± 波动", help: "由于迭代间的波动，变化可能偏差多少。" },
  bound: { title: "± 误差界", help: "由于设备时间是推断的，变化可能偏差多少。" },
  deviceChange: { title: "设备时间变化", help: "每个迭代的设备时间的变化。" },
  hostChange: { title: "主机时间变化", help: "每个迭代的主机时间的变化。" },
  baseCalls: { title: "基线调用次数", help: "每个迭代。" },
  calls: { title: "调用次数", help: "每个迭代。" },
  open: (name) => `展开 ${name}`,
  close: (name) => `收起 ${name}`,
  steps: {
    base: "基线迭代",
    now: { title: "迭代", help: "点击链接在时间线中显示。" },
    change: { title: "变化", help: "当前值减去基线值。" },
  },
};
