// Whether the page is being printed, so that what is drawn in parts can be drawn whole.
import { signal } from "@preact/signals";

/** True from before the pages are laid out for paper. */
export const printing = signal(false);

const paper = globalThis.matchMedia?.("print");
const update = (now: boolean) => (): void => {
  printing.value = now || (paper?.matches ?? false);
};
globalThis.addEventListener?.("beforeprint", update(true));
globalThis.addEventListener?.("afterprint", update(false));
paper?.addEventListener("change", update(false));
