// English texts of the modules page.
import type { ComponentChildren } from "preact";
export const modules = {
  module: { noun: "module", nouns: "modules" },
  annotation: { noun: "annotation", nouns: "annotations" },
  rows: "Rows",
  modules: "Modules",
  modulesHelp: "A row per module",
  classes: "Classes",
  classesHelp: "One row for all modules of a class at the same place, as the layers of a transformer",
  expand: "Expand",
  expandHelp: "Show all rows",
  collapse: "Collapse",
  collapseHelp: "Show the outermost rows only",
  outside: (time: string, share: string, nouns: string) => `${time} (${share}) outside all ${nouns}`,
  outsideHelp: (noun: string, exact: string) =>
    `Device time of the optimizer, of gradient reduction, and of all else that no ${noun} has: ${exact}. In no row.`,
  share: "Of all device time.",
  shareOfBoth: "Of all device time, forward and backward.",
  deviceTotal: "What it and the modules inside launched.",
  deviceTotalForward: "What it and the modules inside launched in the forward pass.",
  columns: {
    module: { title: "Module" },
    annotation: { title: "Annotation" },
    deviceShare: { title: "Of device time" },
    hostShare: { title: "Of host time", help: "Of the host time of all outermost rows." },
    deviceTotal: { title: "Device total" },
    deviceSelf: { title: "Device self", help: "Without the modules inside." },
    backwardDevice: { title: "Backward", help: "Device time of the backward pass of its operators." },
    hostTotal: { title: "Host total", help: "From call to return." },
    hostSelf: { title: "Host self", help: "Without the modules inside." },
    backwardHost: { title: "Host backward", help: "Host time of the backward pass of its operators." },
    calls: { title: "Calls", help: "The link finds them in the timeline." },
    kernels: { title: "Kernels", help: "Device activities in both passes, those of the modules inside too." },
  },
  toTimeline: "Find them in the timeline",
  close: (name: string) => `Close ${name}`,
  open: (name: string) => `Open ${name}`,
  toFlame: (path: string) => `${path}\nShow it in the flame graph`,
  annotations: () => (
    <>
      <b>This trace holds no modules.</b> The rows are the ranges of <code>record_function</code> instead.
    </>
  ),
  withStack: () => (
    <>
      Record with <code>with_stack=True</code> to see the modules.
    </>
  ),
  /** A comment in lines of Python. */
  frames: "Python frames, and with them the calls of nn.Modules",
  noModules: "This trace holds no modules",
  noneCalled: (flame: (text: string) => ComponentChildren) => (
    <>
      Python frames were recorded, but no nn.Module was called within. Compiled and replayed graphs run
      without them. The {flame("flame graph")} shows the frames.
    </>
  ),
  linesDo: "torch records calls of nn.Modules with the Python stack. These lines do:",
  rangesToo: () => (
    <>
      Ranges of <code>torch.profiler.record_function</code> would be shown here as well.
    </>
  ),
};
