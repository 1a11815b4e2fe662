// The URL keys of the advice page.
import { text } from "../../state/url-key";

export const ADVICE_KEYS = {
  /** The cause whose findings are listed. */
  group: text(),
  /** The rule whose finding is open. */
  selected: text(),
  /** The rules whose findings were put aside, separated by commas. They stay aside on other pages. */
  aside: text(["run"]),
};
