import type { help as english } from "../en/app";

export const help: typeof english = {
  title: "快捷键",
  timeline: "时间线",
  filters: "筛选",
  close: "关闭",
  mouse: { drag: "拖动", doubleClick: "双击", shiftClick: "Shift 加单击" },
  ofPage: {
    "/": "筛选当前页面的表格",
    "↑ ↓ PgUp PgDn": "在表格或列表中移动；迭代图中用 ← →",
    "Enter": "打开或选中",
    "shiftClick": "再按一列排序",
    "Esc": "清除筛选，关闭面板",
    "?": "显示这些快捷键",
  },
  ofTimeline: {
    "w s": "以指针为中心放大、缩小；也可按住 Ctrl 滚动滚轮",
    "a d": "左右移动；也可按住 Shift 滚动滚轮或拖动",
    "← → ↑ ↓": "下一个区间，上方或下方的区间",
    "[ ]": "沿箭头移动：回到启动它的算子或其前向算子，前往其第一个 kernel 或反向算子",
    "drag": "在拖过的轨道上选取一段时间：显示其长度与其中的内容；随后可拖动其边缘",
    "f": "缩放至选中内容；按 0 显示整个录制",
    "c": "显示关键路径",
    "m": "在指针处设置或移除标记",
    "x": "选取当前显示的范围，或最近两个标记之间的范围",
    "/ n N": "搜索整个 trace，下一个与上一个匹配",
    "doubleClick": "缩放至一个区间",
  },
  ofFilter: {
    "mm -relu": "包含 mm，不包含 relu",
    '"a, b"': "含空格或逗号的文本",
    "host_self > 1 ms": "与某一列比较：< <= > >= = !=",
    "calls >= 10, share > 5%": "两个条件同时成立",
    'name = "aten::mm"': "与文本完全相同",
  },
};
