import { count, plural } from "../count";

/** Of the small parts of pages. */
export const widgets = {
  copy: "Copy",
  copied: "Copied",
  copyByHand: "Select and copy by hand",
  shown: (duration: string) => `${duration} shown`,
  timelineKeys: "Timeline: arrow keys go from range to range, W and S zoom, A and D move, question mark lists the keys",
  picker: {
    find: (name: string) => `Find ${name.toLowerCase()}`,
    nothing: "Nothing matches.",
    more: (n: number) => `${count(n)} more: type to narrow.`,
  },
  area: {
    keys: (title: string) => `${title}. Arrow keys move the cursor, Shift and arrows mark a part, Enter selects it.`,
    peak: (size: string) => `peak ${size}`,
  },
  flame: { keys: (label: string) => `${label} Arrow keys move, Enter zooms, Backspace goes back.` },
  heat: {
    keys: (label: string) => `${label} Arrow keys move, Enter selects.`,
    scale: (share: string, each: number) => `${share} less, or more, than the median of the column${each > 1 ? `; ${each} rows a line, the farthest is seen` : ""}`,
  },
  histogram: {
    label: (title: string, bins: readonly { calls: number; low: string }[]) => `${title}: ${bins.map((b) => `${count(b.calls)} from ${b.low}`).join(", ")}`,
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
