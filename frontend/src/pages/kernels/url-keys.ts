// The URL keys of the kernels page.
import { number, RESET_BY, TABLE_KEYS, text } from "../../state/url-key";

export const KERNELS_KEYS = {
  ...TABLE_KEYS,
  group: text(),
  /** The row whose calls are open, by its number in the recording. */
  selected: text(RESET_BY.step),
  /** The selected one of its calls, by its row in the recording; the typical one by default. */
  instance: number([...RESET_BY.step, "selected"]),
};
