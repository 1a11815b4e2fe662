// The URL keys of the overview.
import { RESET_BY, TABLE_KEYS, text } from "../../state/url-key";

export const OVERVIEW_KEYS = {
  ...TABLE_KEYS,
  /** The device whose time is shown, by its number; null stands for all. */
  device: text(RESET_BY.rank),
  /** What the rows of the table are by; null stands for operators. */
  by: text(),
};
