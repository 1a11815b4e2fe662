// Rows of call trees: what they are, what a search matches, and the pattern that ignores one.
import { t } from "../../i18n";
import { searchedIn, type TreeRow } from "./flame-boxes";

/** What a row is, in words. */
export const KINDS: Readonly<Record<string, string>> = t.flame.kinds;

/** Time in rows with the text; what is inside another such row counts once. */
export function matchedTime<Row extends TreeRow>(
  rows: readonly Row[],
  search: string,
  time: (row: Row) => number,
): number {
  const text = search.trim().toLowerCase();
  if (text === "") return 0;
  const inside: boolean[] = [];
  let sum = 0;
  rows.forEach((row, i) => {
    const around = row.parent !== null && (inside[row.parent] ?? false);
    const found = searchedIn(row).includes(text);
    inside[i] = around || found;
    if (found && !around) sum += time(row);
  });
  return sum;
}

/** The pattern that ignores a row: a frame's package, else its file or name. `;` and `\` are escaped. */
export function patternOf(name: string, kind: string): string {
  const inPackage = kind === "frame" ? /^\/?[^/(<]+\//.exec(name) : null;
  const file = kind === "frame" ? /^[^(<]+\.py/.exec(name) : null;
  return (inPackage?.[0] ?? file?.[0] ?? name).replace(/[\\;]/g, "\\$&");
}
