// The tracks of all ranks as lines on the canvas, and how the reader arranges them.
import { useMemo } from "preact/hooks";
import { t } from "../../i18n";
import { go, state } from "../../state/url";
import type { Camera } from "../../widgets/timeline/camera";
import {
  fits,
  flipped,
  isFolded,
  lanesText,
  layout,
  parseLanes,
  raised,
  sectionOf,
  trackId,
  type Arrangement,
  type Line,
  type RowHeights,
  type Section,
} from "../../widgets/timeline/track-layout";
import type { ItemSpot } from "./details-panel";
import type { Ranks } from "./rank-picker";
import { BASE, trackIn, type Lane } from "./lanes";

/** The ranks on the timeline. */
type Shown = Pick<Ranks, "lanes" | "known">;

export interface Tracks {
  lanes: readonly Lane[];
  /** The numbers of the ranks, the selected one first. */
  numbers: readonly number[];
  /** All that there is, on the clock of the selected rank. */
  all: Camera;
  arrangement: Arrangement;
  lines: readonly Line[];
  arrange: (changes: Partial<Arrangement>) => void;
}

export function useTracks(ranks: Shown, heights: RowHeights): Tracks {
  const { lanes } = ranks;
  const text = state.value.lanes;
  const numbers = useMemo(() => lanes.map((lane) => lane.rank), [lanes]);
  const all = useMemo(
    () => ({
      start: Math.min(...lanes.map((lane) => lane.shift)),
      stop: Math.max(...lanes.map((lane) => lane.base.end_ns + lane.shift)),
    }),
    [lanes],
  );
  const arrangement = useMemo(() => parseLanes(text, numbers), [text, numbers]);
  const lines = useMemo(() => layout(sectionsOf(ranks), arrangement, heights), [ranks, arrangement, heights]);
  const arrange = (changes: Partial<Arrangement>): void =>
    go({ lanes: lanesText({ ...arrangement, ...changes }, numbers) }, "replace");
  return { lanes, numbers, all, arrangement, lines, arrange };
}

/** What the headings of tracks do. */
export function headingActions({ arrangement, arrange, lines, numbers }: Tracks) {
  const { pinned, toggled, groups, order, hidden } = arrangement;
  return {
    onToggle: (id: number) => arrange({ toggled: flipped(toggled, id) }),
    onPin: (id: number) =>
      arrange({ pinned: pinned.includes(id) ? pinned.filter((other) => other !== id) : [...pinned, id] }),
    onHide: (line: Line) => arrange({ hidden: flipped(hidden, line.kind === "track" ? line.id : line.key) }),
    onFilter: (only: string) => arrange({ only }),
    onLift: (id: number) => arrange({ pinned: lifted(pinned, id) }),
    onGroup: (key: string) => arrange({ groups: flipped(groups, key) }),
    onRaise: (key: string) => arrange({ order: raised(lines, key, order) }),
    onLeave: (rank: number) => {
      if (rank === BASE) {
        go({ compare: null });
        return;
      }
      const others = numbers.slice(1).filter((other) => other !== rank && other !== BASE);
      go({ ranks: others.join(",") || null });
    },
  };
}

/** Unfolds the track of a range and its group: a range that is shown is seen. */
export function unfold({ lanes, numbers, arrangement, lines, arrange }: Tracks, spot: ItemSpot): void {
  const id = spot.track;
  const track = trackIn(lanes, id);
  if (!track) return;
  const folded = spot.row > 0 && isFolded({ ...track, id }, arrangement);
  const hidden = !lines.some((line) => line.kind === "track" && line.id === id);
  if (!folded && !hidden) return;
  if (!fits(arrangement.only, `${track.group} ${track.label}`)) {
    arrange({ only: "" });
    return;
  }
  const key = `${sectionOf(id) === 0 ? "" : numbers[sectionOf(id)]}/${track.group_key}`;
  if (arrangement.hidden.has(id) || arrangement.hidden.has(key)) {
    arrange({ hidden: new Set([...arrangement.hidden].filter((one) => one !== id && one !== key)) });
    return;
  }
  arrange({
    toggled: folded ? flipped(arrangement.toggled, id) : arrangement.toggled,
    groups: hidden ? flipped(arrangement.groups, key) : arrangement.groups,
  });
}

function sectionsOf({ lanes, known }: Shown): Section[] {
  return lanes.map(({ rank, base }, at) => ({
    rank,
    title: lanes.length > 1 ? (known[at]?.title ?? t.timeline.rank(rank, known[at]?.note ?? "")) : null,
    short: rank === BASE ? t.timelineComparison.short : String(rank),
    above: rank === BASE,
    counters: base.counters,
    summaries: base.summaries,
    tracks: base.tracks.map((track) => ({ ...track, id: trackId(at, track.id) })),
  }));
}

/** The list with one of its numbers a place higher. */
function lifted(list: readonly number[], one: number): number[] {
  const at = list.indexOf(one);
  return at > 0
    ? [...list.slice(0, at - 1), one, ...list.slice(at - 1).filter((other) => other !== one)]
    : [...list];
}
