// The URL keys of the page of recorded counters.
import { number, RESET_BY, TABLE_KEYS, text } from "../../state/url-key";

export const COUNTERS_KEYS = {
  ...TABLE_KEYS,
  /** The table: all counters, or one of them by kernel or step. */
  group: text(),
  /** The counter of these tables; the first one by default. */
  counter: number(RESET_BY.span),
};
