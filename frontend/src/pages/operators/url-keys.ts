// The URL keys of the operators page.
import { RESET_BY, TABLE_KEYS, text } from "../../state/url-key";

export const OPERATORS_KEYS = {
  ...TABLE_KEYS,
  group: text(),
  /** The open row, by its number in the recording; `calls:12` shows its calls. */
  selected: text(RESET_BY.step),
};
