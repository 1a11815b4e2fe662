// Chinese texts of en/server.
import type * as english from "../en/server";
import type { Translation } from "../translation";

export const client: Translation<typeof english.client> = {
  mistake: "页面出错了。",
  noAnswer: (seconds) => `TensorBoard 已有 ${seconds} 秒没有响应。`,
  noAnswerHint: "它可能正忙于读取其他 trace。请重试，或查看其日志。",
  unreachable: "无法连接 TensorBoard。",
  unreachableHint: "它还在运行吗？请重新启动，然后重试。",
  unexplained: (status) => `服务器返回状态码 ${status}，没有说明原因。`,
  unexplainedHint: "TensorBoard 的日志中有更多信息。如果中间有代理，也可能是代理的响应。",
};

export const traceNames: Translation<typeof english.traceNames> = {
  "whole trace": "整个 trace",
  "(no parent operator)": "（不由任何算子下发）",
  "(outside of modules)": "（模块之外）",
  "(outside of annotations)": "（标注之外）",
  "(outside of operators)": "（算子之外）",
  "(matched with an eager run)": "（与逐个下发的运行相匹配）",
  "(annotated in the graph)": "（图中的标注）",
};
