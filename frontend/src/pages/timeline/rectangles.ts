// Rectangles of the scene and the ranges of the trace that they stand for.
import type { Item, Links } from "../../api/types";
import type { Arrow } from "../../widgets/timeline/scene";
import { sectionOf } from "../../widgets/timeline/track-layout";
import { spotOf, type ItemKey, type ItemSpot } from "./details-panel";
import type { DrawnScene, Lane } from "./lanes";

export const extent = (scene: DrawnScene, i: number): [number, number] => [
  scene.rectangles.start_ns[i] ?? 0,
  (scene.rectangles.start_ns[i] ?? 0) + (scene.rectangles.length_ns[i] ?? 0),
];

export function spotAt(scene: DrawnScene, i: number, ranks: readonly number[]): ItemSpot {
  const { start_ns, length_ns, track, row } = scene.rectangles;
  const start = start_ns[i] ?? 0;
  return {
    ...itemAt(scene, i, ranks),
    track: track[i] ?? 0,
    row: row[i] ?? 0,
    start,
    end: start + (length_ns[i] ?? 0),
  };
}

/** The rectangle that shows a range: its own, or what it is drawn in together with others. */
export function placeOf(
  { rectangles: r, table_names: tables }: DrawnScene,
  item: ItemKey,
  spot: ItemSpot | null,
  ranks: readonly number[],
): number | null {
  const table = tables.indexOf(item.table);
  const section = item.rank === null ? 0 : ranks.indexOf(item.rank, 1);
  let found: number | null = null;
  for (let i = 0; i < r.index.length; i += 1) {
    if (r.table[i] === table && r.index[i] === item.index && sectionOf(r.track[i] ?? 0) === section) return i;
    if (spot && r.track[i] === spot.track && r.row[i] === spot.row && (r.start_ns[i] ?? 0) <= spot.start)
      found = i;
  }
  return found;
}

export function itemAt(scene: DrawnScene, i: number, ranks: readonly number[]): ItemKey {
  const { table, index, track } = scene.rectangles;
  const section = sectionOf(track[i] ?? 0);
  return {
    table: (scene.table_names[table[i] ?? 0] ?? "ops") as ItemKey["table"],
    index: index[i] ?? 0,
    rank: section === 0 ? null : (ranks[section] ?? null),
  };
}

/** Operator to launch to kernel, and forward to backward. */
export function arrowsOf(links: Links, lane: Lane, at: number): Arrow[] {
  const spot = (item: Item): ItemSpot => spotOf(item, lane, at);
  const own = spot(links.item);
  const { launch, operator } = links;
  const from = launch ?? operator;
  const arrows: Arrow[] = [];
  if (links.item.table === "kernels" && from) arrows.push({ from: spot(from), to: own, kind: "launch" });
  // The call lies inside its operator: the arrow says which of those around it.
  if (launch && operator) arrows.push({ from: spot(operator), to: spot(launch), kind: "launch" });
  if (links.item.table === "launches" && operator)
    arrows.push({ from: spot(operator), to: own, kind: "launch" });
  for (const kernel of links.kernels) arrows.push({ from: own, to: spot(kernel), kind: "launch" });
  if (links.forward) arrows.push({ from: spot(links.forward), to: own, kind: "backward" });
  for (const back of links.backward) arrows.push({ from: own, to: spot(back), kind: "backward" });
  return arrows;
}

/** Whether a name is among those that are searched for; null without a search. */
export function nameMatcher(find: string | null): ((name: string) => boolean) | null {
  if (!find) return null;
  const wanted = find.toLowerCase();
  return (name) => name.toLowerCase().includes(wanted);
}
