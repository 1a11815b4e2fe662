// The URL keys of the page *Ranks*.
import { TABLE_KEYS, text } from "../../state/url-key";

export const DISTRIBUTED_KEYS = {
  ...TABLE_KEYS,
  group: text(),
  /** The measure that the grid shows. */
  by: text(),
  /** The order of the grid's rows. */
  levels: text(),
  /** The open finding. */
  selected: text(),
};
