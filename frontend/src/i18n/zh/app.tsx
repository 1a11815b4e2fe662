// Chinese texts of en/app.
import type { Overview } from "../../api/types";
import type * as english from "../en/app";
import type { Translation } from "../translation";

export const frame: Translation<typeof english.frame> = {
  brand: "PrivateUse1",
  title: "PrivateUse1 性能分析",
  pages: "页面",
  showNames: "显示名称",
  iconsOnly: "仅显示图标",
};

export const topbar: Translation<typeof english.topbar> = {
  run: "运行",
  rank: "Rank",
  span: "采集段",
  window: "窗口",
  looking: "正在查找…",
  keys: "快捷键与筛选",
  language: "语言",
  source: "设备时间的来源",
  findings: "数据疑点",
  findingsHelp: "数据的疑点",
  aboutRecording: "关于此采集",
};

export const help: Translation<typeof english.help> = {
  title: "快捷键",
  timeline: "时间线",
  filters: "筛选",
  close: "关闭",
  mouse: { drag: "拖动", doubleClick: "双击", shiftClick: "Shift 加单击" },
  ofPage: {
    "/": "筛选当前页面的表格",
    "↑ ↓ PgUp PgDn": "在表格或列表中移动；迭代图中用 ← →",
    Enter: "打开或选中",
    shiftClick: "再按一列排序",
    Esc: "清除筛选，关闭面板",
    "?": "显示这些快捷键",
  },
  ofTimeline: {
    "w s": "以指针为中心放大、缩小；也可按住 Ctrl 滚动滚轮",
    "a d": "左右移动；也可按住 Shift 滚动滚轮或拖动",
    "← → ↑ ↓": "下一个区间，上方或下方的区间",
    "[ ]": "沿箭头移动：回到启动它的算子或前向算子，前往第一个 kernel 或反向算子",
    drag: "在拖过的轨道上选取一段时间：显示其长度与内容；边缘可拖动",
    f: "缩放至选中内容；按 0 显示整个录制",
    c: "显示关键路径",
    m: "在指针处设置或移除标记",
    x: "选取当前显示的范围，或最近两个标记之间的范围",
    "/ n N": "搜索整个 trace，下一个与上一个匹配",
    doubleClick: "缩放至一个区间",
  },
  ofFilter: {
    "mm -relu": "包含 mm，不包含 relu",
    '"a, b"': "含空格或逗号的文本",
    "host_self > 1 ms": "与某一列比较：< <= > >= = !=",
    "calls >= 10, share > 5%": "两个条件同时成立",
    'name = "aten::mm"': "与文本完全相同",
  },
};

export const tour: Translation<typeof english.tour> = {
  title: "五步导览",
  offer: "第一次使用？五步导览",
  never: "不再提示导览",
  of: (step, steps) => `第 ${step} 步，共 ${steps} 步`,
  back: "上一步",
  next: "下一步",
  done: "完成",
  close: "关闭",
  steps: [
    { title: "结论。", text: "是什么限制了 step，去掉它之后 step 会短多少。" },
    { title: "首要问题。", text: "每个问题都有修复方法和可节省的时间。“试算”会在去掉该问题后重放 step。" },
    { title: "时间窗口。", text: "所有数字都属于这个窗口：稳定的 step、某一个 step，或全部。" },
    {
      title: "时间去向。",
      text: "算子、kernel、调用、模块和函数，可显示为表格、火焰图或 Roofline 图。点击一行可查看其各次调用。",
    },
    { title: "时间线。", text: "每个带时间的链接都通向这里。按 ? 查看按键。" },
  ],
};

export const emptyLogdir: Translation<typeof english.emptyLogdir> = {
  looking: (logdir) => `正在 ${logdir} 中查找 trace…`,
  title: (logdir) => (logdir ? `${logdir} 中还没有 trace` : "logdir 中还没有 trace"),
  what: () => (
    <>
      torch.profiler 的 trace 是 logdir 下任意文件夹中形如 <code>worker0.1700000000000.pt.trace.json.gz</code>{" "}
      的文件。训练脚本用以下几行代码即可写出一个：
    </>
  ),
  again: "页面每隔几秒重新查找一次，一有 trace 就会显示。",
  running: "可以请求已在运行的任务采集：",
  else: "其他发现",
};

type Reason = Overview["absent"][number]["reason"];
const lackOf =
  (what: string, option: string) =>
  (reason: Reason): string =>
    ({
      not_asked: `${what}（${option}）`,
      nothing_came: `${what}（已启用 ${option}，但没有事件）`,
      format: `${what}（此格式没有）`,
    })[reason];

export const entries: Translation<typeof english.entries> = {
  summary: "总览",
  timeline: "时间线",
  time: "时间去向",
  memory: "内存",
  ranks: "Rank",
  compare: "比较",
  sql: "SQL",
  by: "按",
  as: "显示为",
  rows: {
    operators: "算子",
    kernels: "Kernel",
    calls: "运行时调用",
    modules: "模块",
    functions: "函数",
  },
  drawings: { table: "表格", tree: "树", flame: "火焰图", roofline: "Roofline 图" },
  absent: "未采集：",
  comma: "、",
  bring: {
    memory: lackOf("内存", "profile_memory"),
    modules: lackOf("模块", "with_modules"),
    functions: lackOf("函数", "with_stack"),
  },
  otherRanks: "其他 rank（每个一个文件）",
  absentHelp: "如何采集",
  skip: "跳到页面内容",
  unknownPage: (name) => `没有名为“${name}”的页面，现显示总览。`,
};

export const pageTitles: Translation<typeof english.pageTitles> = {
  overview: "总览",
  advice: "问题",
  whatif: "假设分析",
  timeline: "时间线",
  operators: "算子",
  kernels: "Kernel",
  memory: "内存",
  modules: "模块",
  flame: "火焰图",
  distributed: "Rank",
  diff: "差异",
  sql: "SQL",
};
