// The URL keys of the operators page.
import { number, RESET_BY, TABLE_KEYS, text } from "../../state/url-key";

export const OPERATORS_KEYS = {
  ...TABLE_KEYS,
  group: text(),
  /** The open row, by the number of its longest call in the recording. */
  selected: text(RESET_BY.step),
  /** The selected one of its calls, by its row in the recording; the typical one by default. */
  instance: number([...RESET_BY.step, "selected"]),
};
