// The URL keys of the runs page.
import { TABLE_KEYS, text } from "../../state/url-key";

export const HISTORY_KEYS = {
  ...TABLE_KEYS,
  /** The figure whose trend is shown. */
  by: text(),
  /** The parameter that the figure is drawn over; null is time. */
  sweep: text(),
  /** What the names of the runs contain. */
  matching: text(),
  /** The recordings that were picked to be compared: their keys, a line each. */
  picked: text(),
};
