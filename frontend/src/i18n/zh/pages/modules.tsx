// Chinese texts of en/pages/modules.
import type * as english from "../../en/pages/modules";
import type { Translation } from "../../translation";

export const modules: Translation<typeof english.modules> = {
  module: { noun: "模块", nouns: "模块" },
  annotation: { noun: "标注", nouns: "标注" },
  rows: "行",
  modules: "模块",
  modulesHelp: "每个模块一行",
  classes: "类",
  classesHelp: "同一位置上同一类的所有模块合为一行，例如 transformer 的各层",
  expand: "展开",
  expandHelp: "显示所有行",
  collapse: "折叠",
  collapseHelp: "只显示最外层的行",
  outside: (time, share, nouns) => `${time}（${share}）不在任何${nouns}内`,
  outsideHelp: (noun, exact) =>
    `优化器、梯度规约以及其他不属于任何${noun}的设备时间：${exact}。不计入任何一行。`,
  share: "占全部设备时间的比例。",
  shareOfBoth: "占全部设备时间（前向与反向）的比例。",
  deviceTotal: "它与其内部的模块下发的设备活动。",
  deviceTotalForward: "它与其内部的模块在前向中下发的设备活动。",
  columns: {
    module: { title: "模块" },
    annotation: { title: "标注" },
    deviceShare: { title: "占设备时间" },
    hostShare: { title: "占主机时间", help: "占所有最外层行的主机时间的比例。" },
    deviceTotal: { title: "设备总时间" },
    deviceSelf: { title: "设备自身时间", help: "不含内部的模块。" },
    backwardDevice: { title: "反向", help: "其算子的反向的设备时间。" },
    hostTotal: { title: "主机总时间", help: "从调用到返回。" },
    hostSelf: { title: "主机自身时间", help: "不含内部的模块。" },
    backwardHost: { title: "主机反向", help: "其算子的反向的主机时间。" },
    calls: { title: "调用次数", help: "点击链接在时间线中查找。" },
    kernels: { title: "Kernel 数", help: "前向与反向的设备活动，包含内部的模块。" },
  },
  toTimeline: "在时间线中查找",
  close: (name) => `折叠 ${name}`,
  open: (name) => `展开 ${name}`,
  toFlame: (path) => `${path}\n在火焰图中显示`,
  annotations: () => (
    <>
      <b>该 trace 中没有模块。</b>以下各行是 <code>record_function</code> 的区间。
    </>
  ),
  withStack: () => (
    <>
      采集时设置 <code>with_stack=True</code> 即可看到模块。
    </>
  ),
  frames: "Python 栈帧，以及其中 nn.Module 的调用",
  noModules: "该 trace 中没有模块",
  noneCalled: (flame) => (
    <>
      已采集 Python 栈帧，但其中没有调用 nn.Module。编译图与重放的图运行时不经过它们。{flame("火焰图")}
      中可以查看这些栈帧。
    </>
  ),
  linesDo: "torch 通过 Python 调用栈记录 nn.Module 的调用。以下代码可以采集：",
  rangesToo: () => (
    <>
      <code>torch.profiler.record_function</code> 的区间也会显示在这里。
    </>
  ),
};
