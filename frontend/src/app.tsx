// Starts the page: theme, URL, frame.
import { render } from "preact";
import { Frame } from "./frame";
import { columnMemory } from "./chosen";
import { connect } from "./host";
import { connect as connectPalette } from "./palette";
import { follow } from "./state";
import { language, t } from "./texts";
import "./theme.css";
import { Remembered } from "./widgets/columnchooser";

/** Draws the dashboard into the document's body. */
export function start(): void {
  connect();
  connectPalette();
  follow();
  document.documentElement.lang = language;
  document.title = t.frame.title;
  render(<Remembered.Provider value={columnMemory}><Frame /></Remembered.Provider>, document.body);
}
