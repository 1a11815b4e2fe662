import type { timeline as english } from "../en/timeline";

export const timeline: typeof english = {
  colors: "颜色",
  colorsTitle: "颜色表示什么",
  colorBy: "着色依据",
  byKind: "种类",
  byKindHelp: "kernel、拷贝、通信、算子等",
  byName: "名称",
  byNameHelp: "相同名称用相同颜色",
  byModule: "模块",
  byModuleHelp: "算子所在的 nn.Module，以及下发设备活动的 nn.Module",
  noModules: "没有采集模块：需要 with_stack=True",
  outside: "灰色：不属于任何模块",
  safe: "色盲友好",
  safeHelp: "所有图表改用各类色盲者均可区分的颜色。此选择保存在浏览器中。",
  ofModule: (name) => `模块 ${name}`,
};
