// The URL keys of the roofline page.
import { number, RESET_BY, TABLE_KEYS, text } from "../../state/url-key";

export const ROOFLINE_KEYS = {
  ...TABLE_KEYS,
  /** What a point is. */
  by: text(),
  /** The type of the operands, if not all. */
  dtype: text(RESET_BY.span),
  /** The list below the chart, if not that of the points. */
  list: text(),
  /** The point that is open, by the number of its longest activity in the recording. */
  selected: text(RESET_BY.step),
  /** The selected one of a kernel's calls, by its row in the recording; the typical one by default. */
  instance: number([...RESET_BY.step, "selected"]),
};
