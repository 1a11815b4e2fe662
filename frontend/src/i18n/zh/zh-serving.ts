// Chinese texts of en/pages/serving.
import type * as english from "../en/pages/serving";
import { count } from "../count";
import type { Translation } from "../translation";

const figures: Readonly<Record<string, string>> = {
  requests: "请求数",
  tokens: "token 数",
  context: "上下文",
  device_ns: "设备时间",
  bytes_per_s: "带宽",
  generations: "按请求的时间",
};

export const serving: Translation<typeof english.serving> = {
  title: "推理服务",
  note: (iterations) => `${count(iterations)} 次迭代，按阶段`,
  repeated: (iterations) =>
    `${count(iterations)} 次迭代把之前的全部 token 重新计算了一遍：循环没有使用 KV 缓存。`,
  kinds: { prefill: "预填充", decode: "解码", mixed: "混合", unknown: "未知" },
  founds: { annotation: "标注", shape: "形状", repetition: "重复" },
  working: (kind) => `${kind}，设备工作`,
  idle: "设备空闲",
  legend: "迭代的时间构成",
  known: (share) => `已知字节数的 kernel 占 kernel 时间的 ${share}。`,
  iteration: { noun: "次迭代", nouns: "次迭代" },
  phase: {
    kind: "阶段",
    iterations: "迭代",
    requests: { title: "请求数", help: "每次迭代的平均序列数。" },
    tokens: "token 数",
    median: { title: "中位数", help: "从一次迭代开始到下一次迭代开始的时间。" },
    p95: { title: "95 分位", help: "95 % 的迭代不超过该时间。" },
    rate: { title: "每秒 token", help: "该阶段计算的 token 数除以其时间。" },
    device: { title: "设备忙", help: "该阶段时间中设备工作的占比。" },
    exposed: {
      title: "设备空闲",
      help: "该阶段时间中没有设备工作的占比：设备在等待 host，或处于排队 kernel 之间。",
    },
    bandwidth: {
      title: "带宽",
      help: "已知字节数的 kernel 的带宽；仅当它们占 kernel 时间的一半以上时给出。",
    },
    only: {
      title: "仅此阶段",
      help: "该页面只显示此阶段的数据；顶部的时间窗口可切换回来。",
      overview: "时间构成",
      roofline: "Roofline 图",
      diff: "差异",
    },
  },
  columns: {
    start: { title: "开始", help: "自记录开始起；链接在时间线中显示该迭代。" },
    kind: { title: "阶段", help: "解码：每个序列一个 token。" },
    requests: { title: "请求数" },
    tokens: { title: "token 数", help: "该迭代计算的 token 数，所有请求合计。" },
    context: { title: "上下文", help: "注意力读取的 token 数，所有请求合计。" },
    time: { title: "时间", help: "到下一次迭代开始；最后一次则到其工作结束。" },
    token: { title: "每 token", help: "迭代时间除以其 token 数。" },
    device: { title: "设备时间", help: "该迭代启动的活动运行的时间。" },
    exposed: { title: "设备空闲", help: "没有设备工作的时间：host 暴露在外。" },
    found: { title: "依据", help: "由什么得知该迭代及其阶段。" },
    name: { title: "标注" },
  },
  generation: {
    title: (generations) => `${count(generations)} 次生成`,
    sequences: "序列数",
    prompt: { title: "提示", help: "每个序列的 token 数。" },
    tokens: { title: "新 token", help: "每个序列。" },
    first: { title: "首 token", help: "读取提示的那次迭代的时间。" },
    later: { title: "后续 token", help: "其后各次迭代的平均时间。" },
    total: "总计",
  },
  missing: {
    title: (lines) => `未记录的内容：${count(lines)} 项`,
    figures,
    line: (figure, iterations, reason) => `${figure}，${count(iterations)} 次迭代：${reason}`,
  },
};
