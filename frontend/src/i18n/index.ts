// The texts in the reader's language: `t.<component>.<text>`, a string or a function of the values in it.
// English is the source; a text that a translation lacks is shown in English. Other languages are
// loaded on demand, and modules that use `t` wait for that; to change the language, the page reloads.
import { store, stored } from "../preference";
import { en } from "./en";
import { withEnglish } from "./translation";

export type Texts = typeof en;

/** The languages, each by its own name. */
export const LANGUAGES = { en: "English", zh: "中文" } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = "language";

/** The language that was chosen, else the first of the browser's that we have. */
export const language = wanted();
export const t: Texts = language === "zh" ? withEnglish(en, (await import("./zh")).zh) : en;

/** Another language, from now on; the page starts again where it is. */
export function choose(chosen: Language): void {
  if (store(KEY, chosen)) location.reload();
}

function wanted(): Language {
  // A document in one language, such as a report, says which.
  const own = globalThis.document?.documentElement?.dataset["language"];
  const wished = [own, stored(KEY), ...(globalThis.navigator?.languages ?? [])];
  const told = wished.map((name) => name?.split("-")[0]);
  return told.find((name): name is Language => name !== undefined && Object.hasOwn(LANGUAGES, name)) ?? "en";
}
