// Chinese texts of en/pages/timeline.
import { count } from "../../count";
import { spaced } from "../../han";
import type * as english from "../../en/pages/timeline";
import type { Translation } from "../../translation";

const kinds: Translation<typeof english.timeline.kinds> = {
  kernel: "kernel",
  memcpy: "内存拷贝",
  memset: "内存填充",
  communication: "通信",
  unknown: "启动者未知",
  operator: "算子",
  annotation: "标注",
  runtime: "运行时调用",
  synchronization: "同步",
  frame: "栈帧",
  step: "迭代",
  dataloader: "数据加载",
};

export const timeline: Translation<typeof english.timeline> = {
  kinds,
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
  launchedBy: (operator) => `由 ${operator} 启动`,
  legend: "所示颜色",
  legendHelp: "点击隐藏或显示。双击或 Shift-Enter 只显示这一项。",
  showAll: "全部显示",
  outsideModules: "模块之外",
  moreColors: (others) => `另有 ${others} 项`,
  ofModule: (name) => `模块 ${name}`,
  fit: "适应窗口",
  fitHelp: "整个采集过程（0）",
  picture: "下载图片",
  pictureOf: (run, rank, shown) => `${run}，rank ${rank}：${shown}`,
  pictureTitle: (from, to) => `${from} 至 ${to}`,
  selected: (time) => `已选取 ${time}`,
  apart: (time) => `标记间隔 ${time}`,
  hint: "W S 缩放，A D 移动，拖动选取，? 显示帮助",
  leftOut: (tracks) => `区间最少的 ${tracks} 个线程和流在此没有轨道；表格和 SQL 包含它们。`,
  cannotShow: (rank, why) => `无法显示 rank ${rank}：${why}`,
  rank: (rank, note) => `Rank ${rank}：${note}`,
  told: (name, time, place, start) => [name, time, place, `位于 ${start}`].filter(Boolean).join("，"),
  many: (others, busy, length) => `及此处另外 ${others} 个，${length} 中繁忙 ${busy}`,
  kindAt: (kind, start) => spaced(kind, "位于", start),
  after: (text) => `，${text}`,
  boundNotKnown: "误差界未知",
  allStarts: (bound) => `所有开始时刻共同偏移 ${bound}`,
  inferred: "推断",
  bounded: "推断，只知道界限",
  busyOf: (share) => `繁忙 ${share}`,
  holds: (from, time) => `自 ${from} 起，持续 ${time}`,
  critical: "关键路径",
  criticalHelp: "决定每个迭代何时结束的主机与设备事件链（c）",
  longestPieces: (shown, all, share) => `${all} 段中最长的 ${shown} 段（${share}）`,
  search: "搜索整个 trace",
  searchHint: "搜索整个 trace（/）",
  noMatch: "没有匹配",
  kindsOfHits: "匹配项的种类",
  hitKinds: {
    all: "全部",
    kernels: "设备",
    ops: "算子",
    launches: "运行时调用",
    device_annotations: "设备标注",
    steps: "迭代",
    frames: "栈帧",
  },
  hitOf: (at) => `${at} / `,
  onDevice: (time, bound) => spaced("设备上", `${time} ${bound}`.trim()),
  previous: "上一个（Shift-Enter，N）",
  next: "下一个（Enter，n）",
  area: {
    tables: {
      ops: "算子",
      launches: "运行时",
      frames: "栈帧",
      kernels: "设备",
      steps: "迭代",
      device_annotations: "设备标注",
    },
    rank: "Rank",
    ofRank: (rank) => `Rank ${rank}`,
    close: "关闭",
    selected: (length, ranges, busy, rest) => (
      <>
        已选取 {length}，{count(ranges)} 个区间{busy}
        {rest}
      </>
    ),
    busy: (time, bound, share) => (
      <>
        ，设备繁忙 {time} {bound}（{share}）
      </>
    ),
    most: (shown, all) => `；${all} 个名称中用时最多的 ${shown} 个`,
    from: (clock) => `始于 ${clock}`,
    where: "位于",
    everywhere: "所有轨道",
    chosen: (tracks) => `所选的 ${tracks} 条轨道`,
    noun: "名称",
    nouns: "名称",
    columns: {
      name: { title: "名称" },
      table: { title: "位置" },
      inside: { title: "选区内", help: "位于选区内的时间；嵌套的区间各自计算。" },
      share: { title: "占选区", help: "占选区长度的比例。" },
      ranges: { title: "个数" },
      mean: { title: "平均" },
      longest: { title: "最长" },
    },
  },
};

export const exportMenu: Translation<typeof english.exportMenu> = {
  export: "导出",
  exportHelp: "导出该 trace，或在 Perfetto 中打开",
  formats: {
    chrome: {
      title: "Chrome trace（JSON）格式",
      about: "与采集时相同，并含推断的内容；用于 chrome://tracing、Perfetto、HTA",
    },
    perfetto: { title: "Perfetto trace（protobuf）格式", about: "更小，含 GPU 轨道、计数器与箭头" },
    stacks: { title: "折叠调用栈", about: "火焰图；用于 flamegraph.pl 与 speedscope" },
    parquet: { title: "所有表格，Parquet", about: "用于 pandas、DuckDB 等；ZIP 压缩包" },
    csv: { title: "所有表格，CSV", about: "用于电子表格；ZIP 压缩包" },
  },
  what: "导出内容",
  all: "整个采集过程",
  shown: (time) => `当前显示的内容（${time}）`,
  area: (time) => `选区（${time}）`,
  opening: "正在打开…",
  given: "Perfetto 已收到该 trace。",
  inPerfetto: "在 Perfetto 中打开",
  bundled: "从此服务器打开其页面",
  bundledNote: "数据不会离开此服务器",
  public: "打开 ui.perfetto.dev",
  publicNote:
    "从互联网加载该页面并把 trace 交给它。trace 留在你的浏览器中：Perfetto 声明其页面不会把 trace 发送到任何地方。",
  install: () => (
    <>
      没有网络时：在运行 TensorBoard 的机器上 <code>pip install 'tb-privateuse1[perfetto]'</code>。
    </>
  ),
};

const counters: Translation<typeof english.trackHeadings.counters> = {
  utilization: "设备上有任何活动在运行的时间占比。",
  waiting: "已下发但尚未开始：每段中的最大个数。",
  rate: "每 ms 开始的 kernel、拷贝与填充的个数。",
  sm_efficiency: "持有 block 的多处理器的占比，每个 kernel 的 block 数由 CUPTI 估计。",
  data_loader: "设备因主机处于数据加载中而空闲的时间占比。",
  copies: "字节数除以此类拷贝运行的时间。",
  communication: "集合通信的字节数除以其运行时间，包含等待其他 rank 的时间。",
  memory: "每段中已分配总量的最大值。",
  recorded: "trace 中记录的计数器，采用其自身的单位：每段按时间的均值。",
};

export const trackMenu: Translation<typeof english.trackMenu> = {
  menuOf: (what) => spaced(what, "的菜单"),
  pin: "置顶",
  unpin: "取消置顶",
  hide: "隐藏",
  filter: "只显示此轨道",
  copy: "复制名称",
};

export const trackHeadings: Translation<typeof english.trackHeadings> = {
  counters,
  trackKinds: {
    steps: "迭代",
    operators: "线程",
    frames: "Python 栈帧",
    device: "流",
    annotations: "设备标注",
    counter: "计数器",
  },
  only: "筛选轨道",
  onlyHelp: "线程、流、计数器或其进程、设备名称中的词；置顶的轨道保留。按 Esc 清除。",
  onlyNone: "没有轨道含有这些词。",
  top: "刻度的最大值",
  short: (label) => label.replace(/（推断）$/, ""),
  inferred: "，推断",
  allCounters: "所有计数器",
  busyShare: (share) => spaced("占采集时间的", share),
  busyHelp: "设备有任何活动运行的时间比例，按 kernel 类别划分。",
  families: "kernel 类别",
  hiddenTracks: (tracks) => `显示 ${count(tracks)} 条隐藏的轨道`,
  removeRank: (rank) => `移除 rank ${rank}`,
  removeRankHelp: "移除此 rank",
  fold: (what) => spaced("折叠", what),
  unfold: (what) => spaced("展开", what),
  moveUp: "上移",
  moveUpOf: (what) => spaced("上移", what),
  pin: "置顶",
  pinOf: (what) => spaced("置顶", what),
  selectedOn: (what) => `在${what}上选取`,
  selectedOnHelp: "选区包含此轨道",
  note: (ranges, rows, time) => `${rows} 行共 ${ranges} 个区间，最外层的共 ${time}`,
  hidden: (note, hidden) => `${note}；${hidden} 个过深，未画出`,
};

export const rankPicker: Translation<typeof english.rankPicker> = {
  noRank: (rank) => `没有 rank ${rank}。`,
  reference: "其他 rank 以它的时钟为准",
  notAligned: "时钟未对齐：从它自己的起点开始",
  aligned: (bound, ties) => `已按 ${count(ties)} 次集合通信对齐${bound && ` ${bound}`}`,
  title: "上下并列显示多个 rank",
  shown: (shown, all) => `${shown} / ${count(all)} 个 rank`,
  add: "添加 rank",
  reading: "正在读取所有 rank…",
  readingOf: (done, all) => `正在读取所有 rank：${done} / ${all}…`,
  added: (ranks) => `已添加 ${ranks}：其他 rank 在等待它们，或它们计算时间最长。`,
  noFurther: "没有更多的 rank。",
  addSlowest: "添加最慢的",
  only: (rank) => `只看 rank ${rank}`,
  find: "查找 rank",
  findHint: "rank 或主机",
  narrow: (others) => `另外 ${others} 个：输入以缩小范围。`,
  nothing: "没有匹配项。",
  atMost: (most) => `最多 ${most} 个 rank。`,
  failed: (rank, why) => `Rank ${rank}：${why}`,
};

export const perfetto: Translation<typeof english.perfetto> = {
  noWindow: "浏览器没有打开窗口。请允许此页面弹出窗口，然后重试。",
  closed: "其窗口已关闭。",
  noAnswer: "Perfetto 的页面没有响应。网络是否可用？",
  title: (run, rank, span) => `${run} rank ${rank} 采集段 ${span}`,
};

export const sourceLink: Translation<typeof english.sourceLink> = {
  callLine: (lines) => `在第 ${lines.join(" 或 ")} 行调用`,
  knownFrom: {
    source: "取自源代码：采集在记录开始前读取",
    stack: "取自记录的调用栈：其中有调用所在的行",
  },
  innerHelp: "它直接或间接调用的、torch 以外最内层的函数",
  copyPath: "复制路径",
  copied: "已复制",
  open: "在编辑器中打开",
  openWith: "在编辑器中打开…",
  settings: "编辑器…",
  settingsHelp: "用哪个编辑器打开，以及文件所在的位置",
  editor: "编辑器",
  another: "其他",
  address: () => (
    <>
      编辑器的地址，含 <code>{"{path}"}</code> 与 <code>{"{line}"}</code>
    </>
  ),
  places: () => (
    <>
      文件所在的位置：<code>采集机器上 =&gt; 本机</code>，每行一条
    </>
  ),
  placesExample: "/workspace => /home/me/project（示例）\n=> /home/me/project",
  placesHelp: () => (
    <>
      以路径开头匹配的第一条为准；左侧为空表示相对路径。文件在另一台机器上时：
      <code>vscode://vscode-remote/ssh-remote+host{"{path}:{line}"}</code>
    </>
  ),
  noWholePath: (path) => `${path} 不是完整路径：请指定其位置。`,
  save: "保存在此浏览器",
  reset: "恢复初始值",
  cancel: "取消",
};
