// The boxes of a flame graph: what each row of a result looks like.
import type { FlameNode } from "../../api/types";
import { categoryOf, color } from "../../lib/color";
import { percent } from "../../lib/format";
import { fullName, type Named } from "../../lib/full-name";
import type { FlameBox } from "../../widgets/flamegraph/layout";

/** The CSS property of a row's color. */
export function colorOf(kind: string): string {
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

const HOST = new Set(["module", "operator", "annotation", "frame", "none", "ignored"]);

export const isOnHost = (kind: string): boolean => HOST.has(kind);

/** With the share of the steps' time, or of the window's. */
export function boxOf(row: FlameNode, inferred: boolean): FlameBox {
  const device = !isOnHost(row.kind);
  return {
    name: row.name,
    searched: searchedIn(row),
    color: colorOf(row.kind),
    strong: device,
    hatched: inferred && device,
    parent: row.parent,
    value: row.total_ns,
    note: row.window_share === null ? "" : percent(row.window_share),
  };
}

export interface TreeRow extends Named {
  parent: number | null;
}

/** What a search looks for text in. */
export const searchedIn = (row: Named): string => `${row.name} ${row.full_name ?? ""}`.toLowerCase();

/** From the first row down. */
export function namesOf(rows: readonly TreeRow[], row: number): string[] {
  const names: string[] = [];
  for (let at: TreeRow | undefined = rows[row]; at; at = at.parent === null ? undefined : rows[at.parent])
    names.unshift(fullName(at));
  return names;
}
