// The timeline: every track of the trace, as fine as the screen can show.
import type { RefObject } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Critical, Runs, Timeline as Result } from "../../api/types";
import { t } from "../../i18n";
import { count, duration } from "../../lib/format";
import type { Selected } from "../../state/selection";
import { useUnchanged } from "../../lib/use-unchanged";
import { state } from "../../state/url";
import { useView } from "../../state/use-result";
import { around, middle, span, whole, type Camera } from "../../widgets/timeline/camera";
import { TimeCanvas } from "../../widgets/timeline/canvas";
import { withoutHidden } from "../../widgets/timeline/legend";
import { PARTS, RecordingStrip } from "./recording-strip";
import { withTrackToggled, type Area } from "../../widgets/timeline/selection-area";
import type { ChoosingProps } from "../page-props";
import { Problem, Show } from "../shared/load-states";
import { AreaSummary } from "./area-summary";
import { colorBy } from "./color-menu";
import { useSpots } from "./critical-path";
import { DetailsPanel } from "./details-panel";
import { BASE, sceneOf, type DrawnScene } from "./lanes";
import { Legend, useHidden } from "./legend";
import { MarksStrip } from "./marks-strip";
import { useNotes, type Notes } from "./notes";
import { useRanks, type Ranks } from "./rank-picker";
import { arrowsOf, nameMatcher } from "./rectangles";
import { useHoveredArrows } from "./use-hovered-arrows";
import type { Arrow } from "../../widgets/timeline/scene";
import { useSearch } from "./search-box";
import { Toolbar } from "./toolbar";
import { Tooltip } from "./tooltip";
import { TrackHeadings } from "./track-headings";
import { useArea, useCamera } from "./url-state";
import { useSelectedItem, type SelectedItem } from "./use-item";
import { useComparison } from "./use-comparison";
import { useMarks, type Marks } from "./use-marks";
import { useNavigation, useShortcuts, type Navigation } from "./use-navigation";
import { headingActions, useTracks, type Tracks } from "./use-tracks";
import { useCanvasWidth } from "./use-canvas-width";
import { useSizes, type Sizes } from "./use-sizes";
import { useScene } from "./window-data";
import "./timeline.css";

const texts = t.timeline;

export function Timeline({ selected, runs }: Pick<ChoosingProps, "selected" | "runs">) {
  const base = useView("timeline", selected, { tracks: "", width: PARTS }, null);
  // With a step selected, the timeline begins with it.
  const { step: asked } = selected.place;
  const step = useView("timeline", selected, asked === null ? null : { tracks: "", width: 1 }, asked);
  return (
    <Show resource={base}>
      {(result) =>
        asked === null ? (
          <Page key={selected.place.run} {...{ selected, runs, result }} step={null} />
        ) : (
          <Show resource={step}>
            {({ start_ns, stop_ns }) => (
              <Page
                key={selected.place.run}
                {...{ selected, runs, result }}
                step={{ start: start_ns, stop: stop_ns }}
              />
            )}
          </Show>
        )
      }
    </Show>
  );
}

interface TimelineProps {
  selected: Selected;
  runs: Runs;
  result: Result;
  step: Camera | null;
}

/** What the page shows and what its parts do. */
function useTimeline(
  { selected, runs, result, step }: TimelineProps,
  page: RefObject<HTMLDivElement | null>,
) {
  const hoverAt = useRef<number | null>(null);
  const { find } = state.value;
  const ranks = useComparison(selected, runs, useRanks(selected, result));
  const sizes = useSizes();
  const tracks = useTracks(ranks, sizes.rows);
  const { all } = tracks;
  const view = useCamera(step ? around(step.start, step.stop, all) : whole(all));
  const [area, setArea] = useArea(tracks.numbers);
  const by = colorBy();
  const width = useCanvasWidth(page, sizes.heads);
  const shown = useShownScene(tracks, view.camera, width, by);
  const selection = useSelectedItem(selected, tracks);
  const search = useSearch(selected, find);
  const marks = useMarks();
  const notes = useNotes();
  const [critical, setCritical] = useState<Critical | null>(null);
  const path = useSpots(critical, tracks.lanes[0]);
  const { scene } = shown;
  const navigation = useNavigation({ page, tracks, view, area, setArea, selection, scene });
  useShortcuts({ tracks, view, area, setArea, selection, navigation, marks, search, hoverAt });
  const lines = useLines(marks, notes);
  const hovered = useHoveredArrows(selected, tracks, scene);
  const picked = usePicked({ find, selection, area, marks: lines, by, path, hovered: hovered.arrows });
  return {
    ...{ hoverAt, find, ranks, sizes, tracks, view, area, setArea, by, width, shown, selection },
    ...{ search, marks, notes, critical, setCritical, navigation, picked, hovered },
  };
}

type TimelineState = ReturnType<typeof useTimeline>;

function Page(props: TimelineProps) {
  const { result } = props;
  const page = useRef<HTMLDivElement>(null);
  const timeline = useTimeline(props, page);
  const { hoverAt, tracks, view, area, setArea, shown, selection, navigation, sizes } = timeline;
  const { scene, failure, busy, retry } = shown;
  const drawn = useMemo(() => scene ?? sceneOf(result), [scene, result]);
  // A move of the camera changes nothing of them, and they are many.
  const heads = useUnchanged(<Headings {...{ tracks, drawn, area, setArea, sizes }} />, [
    tracks.lines,
    tracks.lanes,
    tracks.arrangement,
    drawn,
    area,
    sizes.rows,
  ]);
  return (
    <div class="timeline fill" ref={page} aria-busy={busy} data-testid="timeline">
      <Above {...props} timeline={timeline} page={() => page.current} />
      {failure && <Problem failure={failure} retry={retry} />}
      <TimeCanvas
        scene={drawn}
        camera={view.camera}
        lines={tracks.lines}
        all={tracks.all}
        picked={timeline.picked}
        onCamera={view.move}
        onArea={navigation.draw}
        onHover={(at) => {
          hoverAt.current = at;
        }}
        onLook={timeline.hovered.look}
        onScroll={shown.onScroll}
        onArrow={navigation.walk}
        onPick={navigation.pickRectangle}
        onOpen={navigation.openRectangle}
        tooltip={(under) => (
          <Tooltip scene={scene} base={drawn} under={under} window_ns={span(view.camera)} />
        )}
        heads={heads}
        left={sizes.heads}
        onLeft={sizes.setHeads}
      />
      <Announcement {...selection} />
      <Panel
        {...{ tracks, area, setArea, selection, navigation }}
        toCanvas={() => page.current?.querySelector<HTMLElement>(".timecanvas")?.focus()}
      />
    </div>
  );
}

interface AboveProps extends TimelineProps {
  timeline: TimelineState;
  page: () => HTMLElement | null;
}

/** Above the canvas: the toolbar, the whole recording in a strip, findings and notes, the legend. */
function Above({ selected, result, step, timeline, page }: AboveProps) {
  const { ranks, tracks, view, area, find, search, critical, setCritical, navigation } = timeline;
  const { marks, notes, sizes, width, selection, shown, by } = timeline;
  const { camera, move } = view;
  const place = (): Camera => area ?? placeOfNote(selection, marks.marks, camera);
  const scene = useMemo(() => shown.everything ?? sceneOf(result), [shown.everything, result]);
  // A move of the camera changes nothing of it.
  const legend = useUnchanged(<Legend scene={scene} by={by} hidden={shown.hidden} />, [
    scene,
    by,
    shown.hidden,
  ]);
  return (
    <>
      <Toolbar
        {...{ selected, step, ranks, tracks, view, area, find, search, critical, page }}
        marks={marks.marks}
        show={navigation.zoomTo}
        onCritical={setCritical}
      />
      <FailedRanks failed={ranks.failed} />
      <LeftOut tracks={result.left_out} />
      <RecordingStrip {...{ tracks, result, camera, move }} marks={marks.marks} left={sizes.heads} />
      <MarksStrip
        {...{ selected, camera, move, notes, place, width }}
        all={tracks.all}
        shift={tracks.lanes[0]?.shift ?? 0}
        left={sizes.heads}
      />
      {legend}
    </>
  );
}

/** Where a note goes that is on no selection: the selected range, the last mark, else the middle. */
function placeOfNote({ spot }: SelectedItem, marks: readonly number[], camera: Camera): Camera {
  if (spot) return { start: spot.start, stop: spot.end };
  const at = marks.at(-1) ?? middle(camera);
  return { start: at, stop: at };
}

/** Lines over all tracks: marks, and the edges of notes. */
function useLines({ marks }: Marks, { notes }: Notes): readonly number[] {
  return useMemo(
    () => [...marks, ...notes.flatMap(({ start, stop }) => (stop > start ? [start, stop] : [start]))],
    [marks, notes],
  );
}

/** The rectangles of the part of time and of the tracks that is on the screen; `scene` is without
 * what the reader hides. */
function useShownScene(
  { lanes, lines, arrangement }: Tracks,
  camera: Camera,
  width: number,
  by: ReturnType<typeof colorBy>,
) {
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  const hidden = useHidden();
  const shown = useScene({ lanes, camera, lines, arrangement, scroll, width, modules: by === "module" });
  const everything = shown.scene;
  const scene = useMemo(() => everything && withoutHidden(everything, by, hidden), [everything, by, hidden]);
  const onScroll = (top: number, height: number): void => setScroll({ top, height });
  return { ...shown, everything, scene, hidden, onScroll };
}

function FailedRanks({ failed }: { failed: Ranks["failed"] }) {
  return (
    <>
      {failed.map(({ rank, failure: why }) => (
        <p key={rank} class="notice warn" data-testid="rank-failed">
          {rank === BASE ? t.timelineComparison.cannotShow(why.message) : texts.cannotShow(rank, why.message)}
        </p>
      ))}
    </>
  );
}

function LeftOut({ tracks }: { tracks: number }) {
  if (tracks === 0) return null;
  return (
    <p class="notice" data-testid="tracks-left-out">
      {texts.leftOut(count(tracks))}
    </p>
  );
}

interface PickedProps {
  find: string | null;
  selection: SelectedItem;
  area: Area | null;
  marks: readonly number[];
  by: ReturnType<typeof colorBy>;
  path: ReturnType<typeof useSpots>;
  /** Arrows of what the pointer rests on. */
  hovered: readonly Arrow[];
}

/** What stands out on the canvas; the same object as long as nothing of it changes. */
function usePicked({ find, selection, area, marks, by, path, hovered }: PickedProps) {
  const found = useMemo(() => nameMatcher(find), [find]);
  const { spot, linked, lane, place } = selection;
  const arrows = useMemo(
    () => [...(linked && lane ? arrowsOf(linked, lane, place) : []), ...hovered],
    [linked, lane, place, hovered],
  );
  return useMemo(
    () => ({ item: spot, area, marks, arrows, found, by, path }),
    [spot, area, marks, arrows, found, by, path],
  );
}

interface HeadingsProps {
  tracks: Tracks;
  drawn: Pick<DrawnScene, "counters" | "curves" | "devices">;
  area: Area | null;
  setArea: (area: Area | null) => void;
  sizes: Sizes;
}

function Headings({ tracks, drawn, area, setArea, sizes }: HeadingsProps) {
  const { lines, lanes } = tracks;
  return (
    <TrackHeadings
      lines={lines}
      lanes={lanes}
      counters={drawn.counters}
      curves={drawn.curves}
      devices={drawn.devices}
      chosen={area?.tracks ?? null}
      onChoose={(id) => {
        if (area?.tracks) setArea({ ...area, tracks: withTrackToggled(area.tracks, id) });
      }}
      onRow={sizes.setRow}
      {...headingActions(tracks)}
    />
  );
}

/** The selected range in words, for those who do not see it. */
function Announcement({ linked, lane }: SelectedItem) {
  return (
    <p class="unseen" role="status" data-testid="timeline-told">
      {linked &&
        texts.told(
          linked.item.name,
          duration(linked.item.end_ns - linked.item.start_ns),
          linked.place,
          duration(linked.item.start_ns + (lane?.shift ?? 0)),
        )}
    </p>
  );
}

interface PanelProps {
  tracks: Tracks;
  area: Area | null;
  setArea: (area: Area | null) => void;
  selection: SelectedItem;
  navigation: Navigation;
  toCanvas: () => void;
}

/** Below the canvas: the selected interval, else the selected range. */
function Panel({ tracks, area, setArea, selection, navigation, toCanvas }: PanelProps) {
  const { item, lane, links, place } = selection;
  const closing = (close: () => void) => (): void => {
    close();
    toCanvas();
  };
  if (area)
    return (
      <AreaSummary
        lanes={tracks.lanes}
        area={area}
        choose={(chosen) => setArea({ ...area, tracks: chosen })}
        close={closing(() => setArea(null))}
      />
    );
  if (!item || !lane) return null;
  return (
    <DetailsPanel
      {...{ item, lane, links }}
      show={navigation.showOf(place)}
      close={closing(() => navigation.pick(null))}
    />
  );
}
