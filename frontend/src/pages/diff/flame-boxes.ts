// The boxes of the differential flame graph: their width, and the color and words of their change.
import type { FlameDiffNode } from "../../api/types";
import { relativeChange } from "../../lib/format";
import { compare } from "../../i18n/compare";
import type { FlameBox } from "../../widgets/flamegraph/layout";

/** What the width of a box is: time per step in the base, in the new run, or their mean. */
export type Width = "both" | "base" | "now";

/** In order of the legend, from what is gone to what is new. */
export const LEGEND = ["gone", "much_shorter", "shorter", "same", "longer", "much_longer", "new"] as const;
export type Change = (typeof LEGEND)[number];

const MUCH = 0.25;

export function sizeOf(row: FlameDiffNode, width: Width): number {
  const base = row.base_ns ?? 0;
  const now = row.now_ns ?? 0;
  return width === "base" ? base : width === "now" ? now : (base + now) / 2;
}

/** A change within noise or error bounds counts as none. */
export function changeOf(row: FlameDiffNode): Change {
  if (row.status !== "both") return row.status;
  const sure = row.verdict === "longer" || row.verdict === "shorter" || row.verdict === "unknown";
  if (!sure || !row.change_ns) return "same";
  const much = Math.abs(row.change_ns) >= MUCH * Math.max(row.base_ns ?? 0, row.now_ns ?? 0);
  if (row.change_ns > 0) return much ? "much_longer" : "longer";
  return much ? "much_shorter" : "shorter";
}

/** How much of the color a box has: text stays readable on it, light and dark. */
const SHADES: Readonly<Record<Change, number>> = {
  gone: 0.56,
  much_shorter: 0.42,
  shorter: 0.22,
  same: 0.2,
  longer: 0.22,
  much_longer: 0.42,
  new: 0.56,
};

const FASTER: ReadonlySet<Change> = new Set(["gone", "much_shorter", "shorter"]);

export function boxOf(row: FlameDiffNode, width: Width): FlameBox {
  const change = changeOf(row);
  return {
    name: row.name,
    searched: row.name.toLowerCase(),
    color: change === "same" ? "--other" : FASTER.has(change) ? "--shorter" : "--longer",
    strong: false,
    shade: SHADES[change],
    hatched: false,
    parent: row.parent,
    value: sizeOf(row, width),
    note: noteOf(row, change),
  };
}

/** Never color alone: a sign and a number, or a word. */
function noteOf(row: FlameDiffNode, change: Change): string {
  if (row.status !== "both") return compare.diff.statuses[row.status];
  if (!row.base_ns || row.change_ns === null) return "";
  if (change === "same") return "≈";
  return relativeChange(row.change_ns / row.base_ns);
}
