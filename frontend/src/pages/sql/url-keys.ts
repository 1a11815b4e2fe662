// The URL keys of the sql page.
import { TABLE_KEYS, text } from "../../state/url-key";

export const SQL_KEYS = {
  ...TABLE_KEYS,
  /** The query. It stays on other pages. */
  sql: text([]),
};
