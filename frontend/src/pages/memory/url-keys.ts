// The URL keys of the memory page.
import { RESET_BY, TABLE_KEYS, text } from "../../state/url-key";

export const MEMORY_KEYS = {
  ...TABLE_KEYS,
  /** The table that is shown. */
  group: text(),
  /** The device: `type/index`. */
  device: text(RESET_BY.rank),
  /** The selected part of the recording: `start..end` in ns. */
  range: text(RESET_BY.step),
  /** What the chart's axis shows, if not all from zero: `fit`. */
  scale: text(),
  /** What the chart shows, if not the total: `category`. */
  by: text(),
};
