// Moving over the timeline: picking a range, bringing it to the screen, arrow keys and shortcuts.
import { useEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";
import type { Item } from "../../api/types";
import { useLatestCallback } from "../../lib/use-latest-callback";
import { go, state } from "../../state/url";
import { around, middle, panned, showing, whole, within, zoomed } from "../../widgets/timeline/camera";
import type { DrawnArea } from "../../widgets/timeline/use-pointer";
import { neighbour } from "../../widgets/timeline/scene";
import { tracksBetween, type Area } from "../../widgets/timeline/selection-area";
import { itemText, spotOf, type ItemSpot } from "./details-panel";
import { extent, itemAt, placeOf, spotAt } from "./rectangles";
import type { SearchState } from "./search-box";
import { ARROWS, useKeys, type CameraState } from "./url-state";
import type { SelectedItem } from "./use-item";
import { betweenMarks, type Marks } from "./use-marks";
import { unfold, type Tracks } from "./use-tracks";
import { trackIn, type DrawnScene } from "./lanes";

interface Parts {
  page: RefObject<HTMLDivElement | null>;
  tracks: Tracks;
  view: CameraState;
  area: Area | null;
  setArea: (area: Area | null) => void;
  selection: SelectedItem;
  scene: DrawnScene | null;
}

export interface Navigation {
  /** Selects a range by its text in the URL, or none. */
  pick: (text: string | null) => void;
  pickRectangle: (rectangle: number | null) => void;
  openRectangle: (rectangle: number) => void;
  /** Selects a range of the rank at a place and brings it to the screen. */
  showOf: (place: number) => (item: Item) => void;
  /** The same with the range over most of the screen. */
  zoomTo: (item: Item) => void;
  /** Selects the interval that was drawn. */
  draw: (drawn: DrawnArea) => void;
  /** Goes to the range that an arrow key leads to. */
  walk: (key: string) => void;
}

export function useNavigation(parts: Parts): Navigation {
  const { page, tracks, view, area, setArea, selection, scene } = parts;
  const { lanes, numbers, all, lines } = tracks;
  const { camera, move } = view;
  /** The range that was picked here: only a link's range moves the camera. */
  const own = useRef<string | null>(null);
  const pick = (text: string | null): void => {
    own.current = text;
    setArea(null);
    // With what is on the screen, so that Back shows the same again.
    go({ item: text, area: null, ...(text !== null && { range: view.write(camera) }) });
  };
  const show = (spot: ItemSpot): void => {
    pick(itemText(spot));
    unfold(tracks, spot);
    move(showing(camera, spot.start, spot.end, all));
    scrollTo(page.current, tracks, spot);
  };
  useLinkedRange(parts, own);
  return {
    pick,
    pickRectangle: (i) => pick(i === null || !scene ? null : itemText(itemAt(scene, i, numbers))),
    openRectangle: (i) => {
      if (scene) move(around(...extent(scene, i), all));
    },
    showOf: (place) => (item) => {
      const lane = lanes[place];
      if (lane) show(spotOf(item, lane, place));
    },
    zoomTo: (item) => {
      const [lane] = lanes;
      if (!lane) return;
      const spot = spotOf(item, lane, 0);
      show(spot);
      move(around(spot.start, spot.end, all));
    },
    draw: ({ heights, ...drawn }) => {
      const { start, stop } = within(drawn, all);
      if (start >= stop) return;
      // Over headings and counters alone that is everything.
      const over =
        heights && tracksBetween(lines, ...heights).filter((id) => trackIn(lanes, id)?.kind !== "steps");
      const chosen = over === null ? (area?.tracks ?? null) : over.length > 0 ? over : null;
      setArea({ start, stop, tracks: chosen });
    },
    walk: (key) => {
      if (!scene) return;
      const { item, spot } = selection;
      const to = neighbour(scene, lines, camera, item && placeOf(scene, item, spot, numbers), key);
      if (to !== null) show(spotAt(scene, to, numbers));
      else if (key === "ArrowLeft") move(panned(camera, -0.5, all));
      else if (key === "ArrowRight") move(panned(camera, 0.5, all));
    },
  };
}

/** A link that names a range but no part of the recording shows the range, if it says nothing else of
 * what is shown. Effects run late: by now another range may have been picked. */
function useLinkedRange({ page, tracks, view, area, selection }: Parts, own: RefObject<string | null>): void {
  const { range, lanes, item } = state.value;
  const { linked, spot } = selection;
  const showLinked = useLatestCallback((): void => {
    const shown = range !== null || area !== null || lanes !== null || own.current === item;
    if (!spot || shown || state.value.item !== item) return;
    own.current = item;
    unfold(tracks, spot);
    view.move(around(spot.start, spot.end, tracks.all));
    scrollTo(page.current, tracks, spot);
  });
  useEffect(() => {
    if (linked) showLinked();
  }, [linked]);
}

/** Scrolls the lines so that the track of a range is seen. */
function scrollTo(page: HTMLElement | null, { lines }: Tracks, spot: ItemSpot): void {
  const line = lines.find((one) => one.kind === "track" && one.id === spot.track);
  const scroller = page?.querySelector(".timecanvas");
  if (!line || !scroller) return;
  const { scrollTop, clientHeight } = scroller;
  const seen = line.y >= scrollTop && line.y + line.height <= scrollTop + clientHeight;
  if (!seen) scroller.scrollTop = Math.max(0, line.y - 60);
}

interface Shortcuts extends Omit<Parts, "page" | "scene"> {
  navigation: Navigation;
  marks: Marks;
  search: SearchState;
  /** The time under the pointer. */
  hoverAt: RefObject<number | null>;
}

/** The keys of the timeline, as the help lists them. */
export function useShortcuts(parts: Shortcuts): void {
  const { tracks, view, area, setArea, selection, navigation, marks, search, hoverAt } = parts;
  const { all } = tracks;
  const { camera, move } = view;
  const { linked, spot, place } = selection;
  const { showOf, zoomTo, pick } = navigation;
  const showLink = (item: Item | null | undefined): void => {
    if (item) showOf(place)(item);
  };
  useKeys({
    w: () => move(zoomed(camera, 0.7, hoverAt.current ?? middle(camera), all)),
    s: () => move(zoomed(camera, 1 / 0.7, hoverAt.current ?? middle(camera), all)),
    a: () => move(panned(camera, -0.2, all)),
    d: () => move(panned(camera, 0.2, all)),
    f: () => {
      if (area) move(around(area.start, area.stop, all));
      else if (spot) move(around(spot.start, spot.end, all));
    },
    m: () => marks.toggle(hoverAt.current ?? spot?.start ?? middle(camera), camera),
    c: () => go({ critical: state.value.critical === null ? "1" : null }, "replace"),
    0: () => move(whole(all)),
    x: () => setArea({ ...within(betweenMarks(marks.marks) ?? camera, all), tracks: null }),
    // Of a selected range, its inspector has the key.
    ...(area && state.value.event === null && { Escape: () => pick(null) }),
    "[": () => showLink(linked?.operator ?? linked?.launch ?? linked?.forward),
    "]": () => showLink(linked?.kernels[0] ?? linked?.backward[0]),
    ...Object.fromEntries(ARROWS.map((key) => [key, () => navigation.walk(key)])),
    n: () => search.next(1, zoomTo),
    N: () => search.next(-1, zoomTo),
  });
}
