// The window that the figures around a table or a chart are of: in its CSV and in its picture.
import { createContext } from "preact";

/** The windows' texts by their column: `window`, and `base_window` of a comparison. */
export type Windows = Readonly<Record<string, string>>;

export const WindowContext = createContext<Windows>({});

interface Source {
  window?: { text: string } | null;
}

/** The windows of a result: none of what is of several traces, and those around a lookup, which does not
 * tell its own. */
export function windowsOf(result: unknown, around: Windows): Windows {
  const { provenance, base } = (result ?? {}) as { provenance?: Source; base?: Source };
  if (provenance === undefined) return around;
  const texts = { window: provenance?.window?.text, base_window: base?.window?.text };
  return Object.fromEntries(Object.entries(texts).filter((e): e is [string, string] => e[1] !== undefined));
}

/** The windows as a line of a picture. */
export const windowLine = (windows: Windows): string =>
  [...new Set(Object.values(windows))].reverse().join(" → ");
