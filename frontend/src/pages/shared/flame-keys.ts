// The URL keys that flame graphs share.
import { RESET_BY, text } from "../../state/url-key";

export const GRAPH_KEYS = {
  /** Which ranges are shown: `operators`, `modules`. */
  levels: text(),
  /** The box that the graph starts with, by the names on the way to it. */
  zoom: text(RESET_BY.step),
  /** Whether frames of libraries are `ignored`, and other names by patterns. */
  libraries: text(),
  ignore: text(),
  filter: text(),
};
