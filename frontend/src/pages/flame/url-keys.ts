// The URL keys of the flame page.
import { RESET_BY, text } from "../../state/url-key";
import { GRAPH_KEYS } from "../shared/flame-keys";

export const FLAME_KEYS = {
  ...GRAPH_KEYS,
  group: text(),
  /** Which time the widths are: `host`, else the device's. */
  by: text(),
  /** `bottom_up`: own time outermost, callers inside. */
  tree: text(),
  /** The frame of the sandwich. */
  frame: text(RESET_BY.step),
};
