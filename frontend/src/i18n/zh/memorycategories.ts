import type { memorycategories as english } from "../en/memorycategories";

export const memorycategories: typeof english = {
  parameters: { label: "参数", title: "模块的参数与缓冲区。" },
  optimizer_state: { label: "优化器状态", title: "在优化器的 step 中分配，之后仍未释放。" },
  gradients: { label: "梯度", title: "参数的梯度：在反向中分配，之后仍未释放。" },
  activations: { label: "激活", title: "在前向中分配，在其算子结束后仍未释放。" },
  inputs: { label: "输入", title: "来自数据加载，或在前向开始之前生成。" },
  temporaries: { label: "临时内存", title: "随分配它的算子、反向或优化器 step 一起释放。" },
  unknown: { label: "未知", title: "没有规则能判断其用途。" },
};
