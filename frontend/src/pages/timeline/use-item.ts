// The selected range: its place on the timeline, and the ranges that it is linked with.
import { useMemo } from "preact/hooks";
import type { Links } from "../../api/types";
import type { Selected } from "../../state/selection";
import { state } from "../../state/url";
import type { Resource } from "../../state/use-result";
import { parseItem, spotOf, useLinks, type ItemKey, type ItemSpot } from "./details-panel";
import type { Tracks } from "./use-tracks";
import type { Lane } from "./lanes";

export interface SelectedItem {
  item: ItemKey | null;
  /** The place of its rank among those that are shown, and that rank; undefined if it is not shown. */
  place: number;
  lane: Lane | undefined;
  links: Resource<Links>;
  /** Null until the links are there. */
  linked: Links | null;
  spot: ItemSpot | null;
}

export function useSelectedItem(selected: Selected, { lanes, numbers }: Tracks): SelectedItem {
  const text = state.value.item;
  const item = useMemo(() => parseItem(text), [text]);
  const place = item?.rank == null ? 0 : numbers.indexOf(item.rank, 1);
  const lane = lanes[place];
  const links = useLinks(lane?.selected ?? selected, lane ? item : null);
  const linked = item && lane && links.loaded.status === "ready" ? links.loaded.value : null;
  const spot = useMemo(
    () => (linked && lane ? spotOf(linked.item, lane, place) : null),
    [linked, lane, place],
  );
  return { item, place, lane, links, linked, spot };
}
