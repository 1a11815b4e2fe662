// English texts of the timeline.
import type { ComponentChildren } from "preact";
import type { Counter } from "../../../api/types";
import { plural } from "../../count";

/** What a rectangle is, by the codes of the result. */
const kinds = {
  kernel: "kernel",
  memcpy: "memcpy",
  memset: "memset",
  communication: "communication",
  unknown: "launcher unknown",
  operator: "operator",
  annotation: "annotation",
  runtime: "runtime",
  synchronization: "synchronization",
  frame: "frame",
  step: "step",
  dataloader: "data loader",
};

export const timeline = {
  kinds,
  colors: "Colors",
  colorsTitle: "Colors",
  colorBy: "Color by",
  byKind: "Kind",
  byKindHelp: "Kernels, copies, communication, operators, …",
  byName: "Name",
  byNameHelp: "The same name has the same color",
  byModule: "Module",
  byModuleHelp: "The nn.Module that an operator is in, and a device activity was launched from",
  noModules: "No modules were recorded: they are with with_stack=True",
  outside: "grey: outside of modules",
  safe: "Color-blind safe",
  safeHelp:
    "Colors that remain apart for every kind of color blindness, in all charts. This browser keeps it.",
  launchedBy: (operator: string) => `launched by ${operator}`,
  legend: "Colors shown",
  legendHelp: "Click hides or shows it. Double-click, or Shift-Enter, shows only this.",
  showAll: "Show all",
  outsideModules: "outside of modules",
  moreColors: (others: number) => `and ${plural(others, "other")}`,
  ofModule: (name: string) => `module ${name}`,
  fit: "Fit",
  fitHelp: "The whole recording (0)",
  picture: "Download the picture",
  pictureOf: (run: string, rank: number, shown: string) => `${run}, rank ${rank}: ${shown}`,
  pictureTitle: (from: string, to: string) => `${from} to ${to}`,
  selected: (time: string) => `${time} selected`,
  apart: (time: string) => `marks: ${time} apart`,
  hint: "W S zoom, A D move, drag selects, ? for help",
  leftOut: (tracks: string) =>
    `${tracks} threads and streams with the fewest ranges have no track here. The tables and SQL include them.`,
  cannotShow: (rank: number, why: string) => `Rank ${rank} cannot be shown: ${why}`,
  rank: (rank: number, note: string) => `Rank ${rank}: ${note}`,
  told: (name: string, time: string, place: string, start: string) =>
    [name, time, place, `at ${start}`].filter(Boolean).join(", "),
  many: (others: string, busy: string, length: string) =>
    `and ${others} more here, busy ${busy} of ${length}`,
  kindAt: (kind: string, start: string) => `${kind} at ${start}`,
  after: (text: string) => `, ${text}`,
  boundNotKnown: "bound not known",
  allStarts: (bound: string) => `all starts together ${bound}`,
  inferred: "inferred",
  bounded: "inferred, only limits are known",
  busyOf: (share: string) => `Busy ${share}`,
  holds: (from: string, time: string) => `from ${from} on, for ${time}`,
  critical: "Critical path",
  criticalHelp: "The chain of host and device events that decides when each step ends (c)",
  longestPieces: (shown: string, all: string, share: string) =>
    `its ${shown} longest pieces of ${all} (${share})`,
  search: "Search the whole trace",
  searchHint: "Search the whole trace  ( / )",
  noMatch: "no match",
  kindsOfHits: "Kinds of what is found",
  hitKinds: {
    all: "all",
    kernels: "device",
    ops: "operators",
    launches: "runtime calls",
    device_annotations: "device annotations",
    steps: "steps",
    frames: "Python",
  },
  hitOf: (at: string) => `${at} of `,
  onDevice: (time: string, bound: string) => `${time} ${bound} on the device`,
  previous: "Previous (Shift-Enter, N)",
  next: "Next (Enter, n)",
  area: {
    /** Where a range was recorded, by its table. */
    tables: {
      ops: "operator",
      launches: "runtime",
      frames: "Python",
      kernels: "device",
      steps: "steps",
      device_annotations: "device annotation",
    },
    rank: "Rank",
    ofRank: (rank: number) => `Rank ${rank}`,
    close: "Close",
    selected: (
      length: ComponentChildren,
      ranges: number,
      busy: ComponentChildren,
      rest: ComponentChildren,
    ) => (
      <>
        {length} selected, {plural(ranges, "range")}
        {busy}
        {rest}
      </>
    ),
    busy: (time: string, bound: ComponentChildren, share: string) => (
      <>
        , device busy {time} {bound} ({share})
      </>
    ),
    most: (shown: string, all: string) => `; the ${shown} names with most time of ${all}`,
    from: (clock: string) => `From ${clock}`,
    where: "On",
    everywhere: "all tracks",
    chosen: (tracks: number) => `${tracks} chosen tracks`,
    noun: "name",
    nouns: "names",
    columns: {
      name: { title: "Name" },
      table: { title: "Where" },
      inside: { title: "Inside", help: "Time within the selection; nested ranges count each for itself." },
      share: { title: "Of selection", help: "Of the selection's length." },
      ranges: { title: "Count" },
      mean: { title: "Mean" },
      longest: { title: "Max" },
    },
  },
};

export const exportMenu = {
  export: "Export",
  exportHelp: "Export the trace, or open it in Perfetto",
  formats: {
    chrome: {
      title: "Chrome trace (JSON)",
      about: "as recorded, with what was inferred; for chrome://tracing, Perfetto, HTA",
    },
    perfetto: { title: "Perfetto trace (protobuf)", about: "smaller, with GPU tracks, counters and arrows" },
    stacks: { title: "Collapsed stacks", about: "the flame graph; for flamegraph.pl and speedscope" },
    parquet: { title: "All tables, Parquet", about: "for pandas, DuckDB and others; a ZIP archive" },
    csv: { title: "All tables, CSV", about: "for spreadsheets; a ZIP archive" },
  },
  what: "What to export",
  all: "Whole recording",
  shown: (time: string) => `What is shown (${time})`,
  area: (time: string) => `Selection (${time})`,
  opening: "Opening…",
  given: "It has the trace.",
  inPerfetto: "Open in Perfetto",
  bundled: "Open its pages from this server",
  bundledNote: "nothing leaves it",
  public: "Open ui.perfetto.dev",
  publicNote:
    "Loads that page from the internet and gives it the trace. It stays in your browser: Perfetto says that its page sends traces nowhere.",
  install: () => (
    <>
      {" "}
      Without a network: <code>pip install 'tb-privateuse1[perfetto]'</code> where TensorBoard runs.
    </>
  ),
};

/** What the values of a counter are, by what it counts. */
const counters: Record<Counter["what"], string> = {
  utilization: "The share of time in which anything runs on the device.",
  waiting: "Launched and not started yet: the greatest number in each part.",
  rate: "Kernels, copies and fills that start per ms.",
  sm_efficiency:
    "The share of multiprocessors that hold blocks, as CUPTI estimates the blocks of each kernel.",
  data_loader: "The share of time in which the device is idle as the host is in the data loader.",
  copies: "Bytes by the time in which such copies run.",
  communication: "Bytes of collectives by the time in which they run, waiting for other ranks included.",
  memory: "The greatest allocated total in each part.",
  recorded: "Recorded in the trace, in its own unit: the mean over time of each part.",
};

export const trackMenu = {
  menuOf: (what: string) => `Menu of ${what}`,
  pin: "Pin to the top",
  unpin: "Unpin",
  hide: "Hide",
  filter: "Filter to this track",
  copy: "Copy the name",
};

export const trackHeadings = {
  counters,
  trackKinds: {
    steps: "steps",
    operators: "threads",
    frames: "Python frames",
    device: "streams",
    annotations: "device annotations",
    counter: "counters",
  },
  only: "Filter tracks",
  onlyHelp:
    "Words of a thread's, stream's or counter's name, or of its process or device; pinned tracks stay. Esc clears it.",
  onlyNone: "No track has these words.",
  top: "The top of the scale",
  /** A counter's label, without what stands below it. */
  short: (label: string) => label.replace(/ \(inferred\)$/, ""),
  inferred: ", inferred",
  allCounters: "all counters",
  busyShare: (share: string) => `${share} of the recording`,
  busyHelp: "Share of time in which the device runs anything, by family of kernels.",
  families: "families of kernels",
  hiddenTracks: (tracks: number) => `Show ${plural(tracks, "hidden track")}`,
  removeRank: (rank: string) => `Remove rank ${rank}`,
  removeRankHelp: "Remove this rank",
  fold: (what: string) => `Fold ${what}`,
  unfold: (what: string) => `Unfold ${what}`,
  moveUp: "Move up",
  moveUpOf: (what: string) => `Move ${what} up`,
  pin: "Pin to the top",
  pinOf: (what: string) => `Pin ${what} to the top`,
  selectedOn: (what: string) => `Selected on ${what}`,
  selectedOnHelp: "The selection is on this track",
  note: (ranges: string, rows: number, time: string) =>
    `${ranges} ranges in ${rows} rows, the outermost ${time} in all`,
  hidden: (note: string, hidden: string) => `${note}; ${hidden} lie too deep to be drawn`,
};

export const rankPicker = {
  noRank: (rank: number) => `There is no rank ${rank}.`,
  reference: "the others are on its clock",
  notAligned: "clock not aligned: from its own start",
  aligned: (bound: string, ties: number) => `aligned${bound && ` ${bound}`} by ${plural(ties, "collective")}`,
  title: "Show several ranks below each other",
  shown: (shown: string, all: number) => `${shown} of ${plural(all, "rank")}`,
  add: "Add ranks",
  reading: "Reading all ranks…",
  readingOf: (done: string, all: string) => `Reading all ranks: ${done} of ${all}…`,
  added: (ranks: string) => `Added ${ranks}: the others wait for them, or they compute longest.`,
  noFurther: "There is no further rank.",
  addSlowest: "Add the slowest",
  only: (rank: number) => `Only rank ${rank}`,
  find: "Find ranks",
  findHint: "Rank or host",
  narrow: (others: string) => `${others} more: type to narrow.`,
  nothing: "Nothing matches.",
  atMost: (most: number) => `At most ${most} ranks.`,
  failed: (rank: number, why: string) => `Rank ${rank}: ${why}`,
};

export const perfetto = {
  noWindow: "The browser did not open a window. Allow pop-ups for this page, then try again.",
  closed: "Its window was closed.",
  noAnswer: "Perfetto's pages do not answer. Is there a network?",
  title: (run: string, rank: number, span: number) => `${run} rank ${rank} span ${span}`,
};

export const sourceLink = {
  callLine: (lines: readonly number[]) => `calls it at line ${lines.join(" or ")}`,
  knownFrom: {
    source: "Known from the source, which the capture read before the recording",
    stack: "Known from the recorded stack, which has the lines of calls",
  },
  innerHelp: "The innermost function outside of torch that it calls, directly or not",
  copyPath: "copy path",
  copied: "copied",
  open: "open in editor",
  openWith: "open in editor…",
  settings: "editor…",
  settingsHelp: "Which editor opens it, and where its files are",
  editor: "Editor",
  another: "another",
  address: () => (
    <>
      Its address, with <code>{"{path}"}</code> and <code>{"{line}"}</code>
    </>
  ),
  places: () => (
    <>
      Where files are: <code>there =&gt; here</code>, a line each
    </>
  ),
  placesExample: "/workspace => /home/me/project\n=> /home/me/project",
  placesHelp: () => (
    <>
      The first that a path begins with counts; nothing on the left stands for paths that are relative. On
      another machine: <code>vscode://vscode-remote/ssh-remote+host{"{path}:{line}"}</code>
    </>
  ),
  noWholePath: (path: string) => `${path} is no whole path: say where it is.`,
  save: "Save in this browser",
  reset: "Reset",
  cancel: "Cancel",
};
