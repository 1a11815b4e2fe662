// Rows of call trees: colours, paths of names, and what a search matches.
import { categoryOf, color } from "../../lib/color";
import { fullName, type Named } from "../../lib/full-name";
import { t } from "../../i18n";

/** What a row is, in words. */
export const KINDS: Readonly<Record<string, string>> = t.flame.kinds;

const HOST = new Set(["module", "operator", "annotation", "frame", "none", "ignored"]);

export const isOnHost = (kind: string): boolean => HOST.has(kind);

export function colourOf(kind: string): string {
  switch (kind) {
    case "module":
      return "--accent";
    case "operator":
      return "--cpu";
    case "annotation":
      return "--annotation";
    case "frame":
    case "none":
    case "ignored":
      return "--other";
    default:
      return color(categoryOf(kind)).slice(4, -1);
  }
}

export interface TreeRow extends Named {
  parent: number | null;
}

export const searchedIn = (row: Named): string => `${row.name} ${row.full_name ?? ""}`.toLowerCase();

/** From the first row down. */
export function namesOf(rows: readonly TreeRow[], row: number): string[] {
  const names: string[] = [];
  for (let at: TreeRow | undefined = rows[row]; at; at = at.parent === null ? undefined : rows[at.parent])
    names.unshift(fullName(at));
  return names;
}

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
