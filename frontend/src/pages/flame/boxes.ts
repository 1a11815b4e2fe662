// The boxes of a call tree's rows, with their share of the step's time.
import type { FlameNode } from "../../api/types";
import { percent } from "../../lib/format";
import type { FlameBox } from "../../widgets/flamegraph/layout";
import { colourOf, isOnHost, searchedIn } from "../shared/flame-rows";

export function boxOf(row: FlameNode, inferred: boolean): FlameBox {
  const device = !isOnHost(row.kind);
  return {
    name: row.name,
    searched: searchedIn(row),
    colour: colourOf(row.kind),
    strong: device,
    hatched: inferred && device,
    parent: row.parent,
    value: row.total_ns,
    note: row.window_share === null ? "" : percent(row.window_share),
  };
}
