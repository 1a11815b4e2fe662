// The URL keys of the whatif page.
import { TABLE_KEYS, text } from "../../state/url-key";

export const WHATIF_KEYS = {
  ...TABLE_KEYS,
  group: text(),
  /** The changes to predict, one a line. They stay on other pages. */
  changes: text(["run"]),
};
