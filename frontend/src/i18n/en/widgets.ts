// English texts of tables, charts, panels and other parts that pages share.
import { count, plural } from "../count";

export const widgets = {
  copy: "Copy",
  copied: "Copied",
  copyByHand: "Select and copy by hand",
  shown: (duration: string) => `${duration} shown`,
  headsEdge: "Width of the names of tracks",
  rowsEdge: (kind: string) => `Height of the rows of ${kind}`,
  edgeHelp: "Drag, or use the arrow keys. Double-click for the usual size.",
  timelineKeys:
    "Timeline: arrow keys go from range to range, W and S zoom, A and D move, question mark lists the keys",
  panel: {
    edge: { right: "Width of the panel", bottom: "Height of the panel" },
    help: "Drag to resize, double-click for the usual size",
    close: "Close",
    closeHelp: "Close (Esc)",
  },
  picker: {
    find: (name: string) => `Find ${name.toLowerCase()}`,
    nothing: "Nothing matches.",
    more: (n: number) => `${count(n)} more: type to narrow.`,
  },
  area: {
    keys: (title: string) =>
      `${title}. Arrow keys move the cursor, Shift and arrows mark a part, Enter selects it.`,
    peak: (size: string) => `peak ${size}`,
  },
  flame: {
    keys: (label: string) => `${label} Arrow keys move, Enter zooms, Escape goes back.`,
    above: (rows: number) => `${count(rows)} frames above, each with all of the time (click to open)`,
  },
  heat: {
    keys: (label: string) => `${label} Arrow keys move, Enter selects.`,
    scale: (share: string, each: number) =>
      `${share} less, or more, than the median of the column${each > 1 ? `; ${each} rows a line, the farthest is seen` : ""}`,
  },
  histogram: {
    label: (title: string, bins: readonly { calls: number; low: string }[]) =>
      `${title}: ${bins.map((b) => `${count(b.calls)} from ${b.low}`).join(", ")}`,
    bin: (calls: number, low: string, high: string) => `${plural(calls, "call")} from ${low} to ${high}`,
  },
  bars: {
    step: "Step",
    keys: (noun: string) => `${noun} times by what they go to. Arrow keys move, Enter selects.`,
    average: (duration: string) => `average ${duration}`,
    incomplete: "incomplete",
    duration: "Duration",
  },
};

export const table = {
  /** Of what a row is, more than one. */
  nouns: (noun: string) => `${noun}s`,
  rows: (chosen: number, all: number, noun: string, nouns: string) =>
    (chosen === all ? "" : `${count(chosen)} of `) + plural(all, noun, nouns),
  label: (what: string, opens: boolean) =>
    `Table of ${what}. Arrow keys move${opens ? ", Enter opens a row" : ""}.`,
  sums: (all: boolean, n: number) => `${all ? "All" : "These"} ${count(n)}`,
  sort: (help: string) => `${help ? `${help} ` : ""}Click sorts, Shift-click adds a second column.`,
  none: (nouns: string) => `There are no ${nouns} here.`,
  noMatch: (nouns: string) => `No ${nouns} match the filter.`,
  clear: "Clear it",
  filterOpens: "The filter opens what it finds",
  printed: (printed: number, all: number, nouns: string) =>
    `The first ${count(printed)} of ${count(all)} ${nouns} are printed; CSV on the page has all.`,
  saveShown: "Download what is shown, exact values in ns",
  save: "Download this table, exact values in ns",
  columns: "Columns",
  chooseColumns: "Choose the columns",
  usualColumns: "Reset columns",
  filter: (nouns: string) => `Filter ${nouns}`,
  /** With an example of a comparison, if the table has a column for one. */
  placeholder: (example: string | null) => `Filter: text${example === null ? "" : `, or ${example}`}   ( / )`,
  filterHelp: (names: readonly string[]) =>
    `Words, "quoted text", -without, and comparisons of ${names.join(", ")}. All must hold.`,
};

/** Groups of tracks on the timeline. */
export const trackLayout = {
  counters: "Counters",
  pinned: "Pinned",
  busy: "Busy",
};
