// Starts the page: theme, URL, frame.
import { render } from "preact";
import { Frame } from "./frame";
import { connect } from "./host";
import { follow } from "./state";
import "./theme.css";

/** Draws the dashboard into the document's body. */
export function start(): void {
  connect();
  follow();
  document.documentElement.lang = "en";
  document.title = "PrivateUse1 profiler";
  render(<Frame />, document.body);
}
