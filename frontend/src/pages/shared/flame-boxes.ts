// The boxes of a flame graph: what each row of a result looks like.
import type { FlameNode } from "../../api/types";
import { categoryOf, color } from "../../lib/color";
import { fullName } from "../../lib/full-name";
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
      return "--other";
    default:
      return color(categoryOf(kind)).slice(4, -1);
  }
}

const HOST = new Set(["module", "operator", "annotation", "frame", "none"]);

export function boxOf(row: FlameNode, inferred: boolean): FlameBox {
  const device = !HOST.has(row.kind);
  return {
    name: row.name,
    searched: searchedIn(row),
    colour: colorOf(row.kind),
    strong: device,
    hatched: inferred && device,
    parent: row.parent,
    value: row.total_ns,
  };
}

/** What a search looks for text in. */
export const searchedIn = (row: FlameNode): string => `${row.name} ${row.full_name ?? ""}`.toLowerCase();

/** From the first row down. */
export function namesOf(rows: readonly FlameNode[], row: number): string[] {
  const names: string[] = [];
  for (let at: FlameNode | undefined = rows[row]; at; at = at.parent === null ? undefined : rows[at.parent])
    names.unshift(fullName(at));
  return names;
}
