// The URL keys of the flame page.
import { RESET_BY, text } from "../../state/url-key";

export const FLAME_KEYS = {
  group: text(),
  /** Which time the widths are: `host`, else the device's. */
  by: text(),
  /** Which ranges are shown: `operators`, `modules`. */
  levels: text(),
  /** The box that the graph starts with, by the names on the way to it. */
  zoom: text(RESET_BY.step),
  filter: text(),
};
