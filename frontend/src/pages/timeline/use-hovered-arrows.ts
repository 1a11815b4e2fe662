// The arrows of the range under the pointer: its launch, or what it launched, before it is selected.
import { useMemo, useState } from "preact/hooks";
import { useDebounce } from "../../widgets/controls/debounce";
import type { Arrow } from "../../widgets/timeline/scene";
import type { Selected } from "../../state/selection";
import { itemText, useLinks, type ItemKey } from "./details-panel";
import type { DrawnScene } from "./lanes";
import { arrowsOf, itemAt } from "./rectangles";
import type { Tracks } from "./use-tracks";

/** A pointer that only passes asks for nothing. */
const RESTS_MS = 120;
const NONE: readonly Arrow[] = [];

/** Ranges that have a launch, or are one. */
const LAUNCHED: ReadonlySet<ItemKey["table"]> = new Set(["kernels", "launches", "ops"]);

export interface HoveredArrows {
  arrows: readonly Arrow[];
  /** The rectangle that the pointer rests on; null: on none. */
  look: (rectangle: number | null) => void;
}

export function useHoveredArrows(
  selected: Selected,
  { lanes, numbers }: Tracks,
  scene: DrawnScene | null,
): HoveredArrows {
  const [item, setItem] = useState<ItemKey | null>(null);
  const rests = useDebounce(RESTS_MS);
  const place = item?.rank == null ? 0 : numbers.indexOf(item.rank, 1);
  const lane = lanes[place];
  const { loaded } = useLinks(lane?.selected ?? selected, lane ? item : null);
  const links = item && loaded.status === "ready" ? loaded.value : null;
  const isIts = links?.item.table === item?.table && links?.item.index === item?.index;
  const arrows = useMemo(
    () => (links && lane && isIts ? arrowsOf(links, lane, place) : NONE),
    [links, lane, place, isIts],
  );
  return {
    arrows,
    look: (rectangle) => {
      const next = rectangle === null || !scene ? null : itemAt(scene, rectangle, numbers);
      const wanted = next && LAUNCHED.has(next.table) ? next : null;
      rests(() => setItem((now) => (sameItem(now, wanted) ? now : wanted)));
    },
  };
}

const sameItem = (one: ItemKey | null, other: ItemKey | null): boolean =>
  one === null || other === null ? one === other : itemText(one) === itemText(other);
