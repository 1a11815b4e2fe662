// Which palette the charts are in is the reader's, not the link's: kept in the browser, if it allows
// that. theme.css has the colors of both.
import { signal } from "@preact/signals";
import { store, stored } from "../preference";

const KEY = "palette";
const SAFE = "safe";

/** Whether the colors are those that remain apart for every kind of color blindness. */
export const safe = signal(stored(KEY) === SAFE);

/** Shows the page in the chosen palette, now and whenever it changes; called once. */
export function connect(): void {
  safe.subscribe((on) => {
    if (on) document.documentElement.dataset["palette"] = SAFE;
    else delete document.documentElement.dataset["palette"];
  });
}

export function chooseSafe(on: boolean): void {
  safe.value = on;
  store(KEY, on ? SAFE : null);
}
