// The URL keys of the diff page.
import { number, TABLE_KEYS, text } from "../../state/url-key";
import { GRAPH_KEYS } from "../shared/flame-keys";

export const DIFF_KEYS = {
  ...TABLE_KEYS,
  ...GRAPH_KEYS,
  /** Of the flame graph: `base` or `now`, else the mean of both. */
  width: text(),
  group: text(),
  /** Of memory: what is live at the `peak` or the `end` of each, else what is allocated per step. */
  alive: text(),
  /** Which time is compared: `device`, `host`, else the better known one. */
  by: text(),
  /** The baseline: a run, rank, span and step of its own. It stays on other pages. */
  base: text([]),
  baserank: number(["base"]),
  basespan: number(["base", "baserank"]),
  basestep: number(["base", "baserank", "basespan"]),
};
