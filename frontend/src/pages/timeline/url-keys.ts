// The URL keys of the timeline page.
import { RESET_BY, TABLE_KEYS, text } from "../../state/url-key";

export const TIMELINE_KEYS = {
  ...TABLE_KEYS,
  /** The part of the recording on the screen: `start..end` in ns. */
  range: text(RESET_BY.step),
  /** The selected range: `kernels:12`. */
  item: text(RESET_BY.span),
  /** The text that is searched for. */
  find: text(RESET_BY.span),
  /** The kind of what is found, if not all kinds: `ops`, `kernels`. */
  only: text([...RESET_BY.span, "find"]),
  /** Tracks that are folded or pinned other than by default. */
  lanes: text(RESET_BY.span),
  /** Marks on the time axis: `ns,ns`. */
  marks: text(RESET_BY.span),
  /** Notes on the time axis: `1200~text;3000..4000~text`. */
  notes: text(RESET_BY.span),
  /** `0` hides the findings on the time axis. */
  findings: text(),
  /** The selected interval: `start..stop@3,7`. */
  area: text(RESET_BY.span),
  /** What is shown of it: `operators`, `flame`, `streams`, …; the names by default. */
  group: text(RESET_BY.span),
  /** Of its flame graph: whose time, `host` or else the device's, and the names down to the first box. */
  by: text(RESET_BY.span),
  zoom: text(RESET_BY.span),
  levels: text(RESET_BY.span),
  /** Whether the critical path is shown. */
  critical: text(RESET_BY.span),
  /** Whether the baseline of the comparison is shown above. */
  compare: text(RESET_BY.run),
  /** Further ranks: `3,17`. */
  ranks: text(RESET_BY.run),
  /** What the colors mean, if not the kind of each range: `name`, `module`. */
  colors: text(),
  /** The colors of the legend that are hidden, by their names with `;`. */
  hide: text(["view", "colors"]),
};
