import type { overview as english } from "../en/overview";
import { spaced } from "../han";

export const overview: typeof english = {
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
