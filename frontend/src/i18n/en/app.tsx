// English texts of the frame around all pages: navigation, top bar, dialogs.
import type { Overview } from "../../api/types";

export const frame = {
  brand: "PrivateUse1",
  title: "PrivateUse1 profiler",
  pages: "Pages",
  showNames: "Show names",
  iconsOnly: "Icons only",
};

export const topbar = {
  run: "Run",
  rank: "Rank",
  span: "Span",
  window: "Window",
  looking: "looking for more…",
  keys: "Keys and filters",
  language: "Language",
  source: "Where device times come from",
  findings: "Findings",
  findingsHelp: "What is doubtful about the data",
  aboutRecording: "about this recording",
};

export const help = {
  title: "Keys",
  timeline: "Timeline",
  filters: "Filters",
  close: "Close",
  /** What is done with the mouse. */
  mouse: { drag: "drag", doubleClick: "double click", shiftClick: "Shift-click" },
  ofPage: {
    "/": "Filter the page's table",
    "↑ ↓ PgUp PgDn": "Move in a table, a list; ← → in the step chart",
    Enter: "Open or select",
    shiftClick: "Sort by one more column",
    Esc: "Clear the filter, close a panel",
    "?": "These keys",
  },
  ofTimeline: {
    "w s": "Zoom in and out where the pointer is; also Ctrl and the wheel",
    "a d": "Move left and right; also Shift and the wheel, or Shift and drag",
    "← → ↑ ↓": "The next range, the one above or below",
    "[ ]":
      "Along the arrows: back to the operator that launched it or its forward one, on to its first kernel or backward one",
    drag: "Select an interval on the tracks you drag over: its length and what is in it; then drag its edges",
    f: "Fit the selection; 0 shows the whole recording",
    c: "Show the critical path",
    m: "Set or remove a mark where the pointer is",
    x: "Select what is shown, or what is between the last two marks",
    "/ n N": "Search the whole trace, next and previous match",
    doubleClick: "Zoom to a range",
  },
  ofFilter: {
    "mm -relu": "contains mm, not relu",
    '"a, b"': "text with spaces or commas",
    "host_self > 1 ms": "compare a column: < <= > >= = !=",
    "calls >= 10, share > 5%": "both must hold",
    'name = "aten::mm"': "exactly this text",
  },
};

/** The tour for newcomers. */
export const tour = {
  title: "Tour in five steps",
  offer: "New here? Five steps",
  never: "Do not offer the tour again",
  of: (step: number, steps: number) => `${step} of ${steps}`,
  back: "Back",
  next: "Next",
  done: "Done",
  close: "Close",
  steps: [
    {
      title: "The verdict.",
      text: "What limits the step, and how much shorter it is without that.",
    },
    {
      title: "Top issues.",
      text: "Each has its fix and its saving. Try it replays the step without the problem.",
    },
    {
      title: "The window.",
      text: "All figures are of this window: the steady steps, one step, or everything.",
    },
    {
      title: "Where time goes.",
      text: "Operators, kernels, calls, modules and functions, as a table, a flame graph or a roofline. A row opens its calls.",
    },
    {
      title: "The timeline.",
      text: "Every link with a time leads there. Press ? for the keys.",
    },
  ],
};

/** A logdir without traces. */
export const emptyLogdir = {
  looking: (logdir: string) => `Looking for traces in ${logdir}…`,
  title: (logdir: string) => `No traces in ${logdir || "the logdir"} yet`,
  what: () => (
    <>
      Traces of torch.profiler are files such as <code>worker0.1700000000000.pt.trace.json.gz</code>, in any
      folder below the logdir. With these lines a training script writes one there:
    </>
  ),
  again: "The page looks again every few seconds and shows a trace as soon as there is one.",
  running: "A job that runs already can be asked for one:",
  else: "What else was found",
};

type Reason = Overview["absent"][number]["reason"];
const lackOf =
  (what: string, option: string) =>
  (reason: Reason): string =>
    ({
      not_asked: `${what} (${option})`,
      nothing_came: `${what} (no events came, though ${option} was on)`,
      format: `${what} (not in this format)`,
    })[reason];

/** The entries of the navigation, and the tabs of "where time goes". */
export const entries = {
  summary: "Summary",
  timeline: "Timeline",
  time: "Where time goes",
  memory: "Memory",
  ranks: "Ranks",
  compare: "Compare",
  sql: "SQL",
  by: "By",
  as: "Drawn as",
  rows: {
    operators: "Operators",
    kernels: "Kernels",
    calls: "Runtime calls",
    modules: "Modules",
    functions: "Functions",
  },
  drawings: { table: "Table", tree: "Tree", flame: "Flame graph", roofline: "Roofline" },
  /** What the recording lacks, and the option that records it. */
  absent: "Not recorded: ",
  comma: ", ",
  bring: {
    memory: lackOf("memory", "profile_memory"),
    modules: lackOf("modules", "with_modules"),
    functions: lackOf("functions", "with_stack"),
  },
  otherRanks: "other ranks (one file each)",
  absentHelp: "How to record them",
  skip: "Skip to the page",
  unknownPage: (name: string) => `There is no page “${name}”. This is the summary.`,
};

export const pageTitles = {
  overview: "Summary",
  advice: "Issues",
  whatif: "What-if",
  timeline: "Timeline",
  operators: "Operators",
  kernels: "Kernels",
  memory: "Memory",
  modules: "Modules",
  flame: "Flame graph",
  distributed: "Ranks",
  diff: "Difference",
  sql: "SQL",
};
