// The rows of the diff: what they are, and where each leads in a trace.
import type { DiffRow } from "../../api/types";
import { quote } from "../../lib/filter";
import { fullName } from "../../lib/full-name";
import type { State } from "../../state/url";
import { compare } from "../../i18n/compare";

export const KINDS = ["operators", "shapes", "kernels", "modules", "annotations"] as const;
export type By = (typeof KINDS)[number];
/** What is shown in place of a table of these. */
export const OTHERS = ["flame", "memory", "steps"] as const;
export type Shown = By | (typeof OTHERS)[number];

/** What may be said of a change. */
export const WORDS: Readonly<Record<DiffRow["verdict"], string>> = compare.diff.verdicts;

export const keyOf = (r: DiffRow): string => `${fullName(r)} ${r.detail ?? ""}`.trim();

/** The page of what is compared, and its row there; a kernel may have another name in the base. */
export function targetOf(row: DiffRow, by: By, side: "base" | "now"): Partial<State> {
  if (by === "annotations") return { view: "timeline", find: lastOf(row.name), selected: null };
  if (by === "modules")
    return {
      view: "modules",
      group: "instance",
      selected: row.name,
      filter: `name = ${quote(lastOf(row.name))}`,
    };
  return {
    view: by === "kernels" ? "kernels" : "operators",
    group: by === "shapes" ? "shapes" : by === "kernels" ? "name" : null,
    filter: `name = ${quote((side === "base" && (row.base_full_name ?? row.base_name)) || fullName(row))}`,
    selected: null,
  };
}

/** Of a path of modules the innermost. */
export const lastOf = (path: string): string => path.slice(path.lastIndexOf(" / ") + 1).replace(/^\/ /, "");
