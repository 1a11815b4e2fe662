// Starts the page: theme, URL, frame.
import "./theme.css";
import "./common.css";
import { render } from "preact";
import { Frame } from "./frame";
import { OLD_PAGES, PAGE_KEYS } from "../pages/url-keys";
import { columnMemory } from "../state/table-columns";
import { connect } from "../lib/tensorboard-host";
import { connect as connectPalette } from "../state/palette";
import { follow } from "../state/url";
import { language, t } from "../i18n";
import { ColumnMemoryContext } from "../widgets/table/column-chooser";

/** Draws the dashboard into the document's body. */
export function start(): void {
  connect();
  connectPalette();
  follow(PAGE_KEYS, OLD_PAGES);
  document.documentElement.lang = language;
  document.title = t.frame.title;
  render(
    <ColumnMemoryContext.Provider value={columnMemory}>
      <Frame />
    </ColumnMemoryContext.Provider>,
    document.body,
  );
}
