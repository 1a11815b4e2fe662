// The URL keys of the modules page.
import { TABLE_KEYS, text } from "../../state/url-key";

export const MODULES_KEYS = {
  ...TABLE_KEYS,
  group: text(),
  /** The path of the open module. */
  selected: text(),
};
