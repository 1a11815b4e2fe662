// The timeline: every track of the trace, as fine as the screen can show.
import type { RefObject } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Critical, Timeline as Result } from "../../api/types";
import { t } from "../../i18n";
import { duration } from "../../lib/format";
import type { Selected } from "../../state/selection";
import { state } from "../../state/url";
import { useView } from "../../state/use-result";
import { around, whole, type Camera } from "../../widgets/timeline/camera";
import { HEADS_PX, TimeCanvas } from "../../widgets/timeline/canvas";
import { Minimap } from "../../widgets/timeline/minimap";
import { withTrackToggled, type Area } from "../../widgets/timeline/selection-area";
import type { PageProps } from "../page-props";
import { Problem, Show } from "../shared/load-states";
import { AreaSummary } from "./area-summary";
import { colorBy } from "./color-menu";
import { useSpots } from "./critical-path";
import { DetailsPanel } from "./details-panel";
import { useRanks, type Ranks } from "./rank-picker";
import { arrowsOf, nameMatcher } from "./rectangles";
import { useSearch } from "./search-box";
import { Toolbar } from "./toolbar";
import { Tooltip } from "./tooltip";
import { TrackHeadings, TrackFilter } from "./track-headings";
import { useArea, useCamera } from "./url-state";
import { useSelectedItem, type SelectedItem } from "./use-item";
import { useMarks } from "./use-marks";
import { useNavigation, useShortcuts, type Navigation } from "./use-navigation";
import { headingActions, useTracks, type Tracks } from "./use-tracks";
import { useCanvasWidth } from "./use-canvas-width";
import { densityOf, useScene } from "./window-data";

const texts = t.timeline;
const PARTS = 600;

export function Timeline({ selected }: Pick<PageProps, "selected">) {
  const base = useView("timeline", selected, { tracks: "", width: PARTS }, null);
  // With a step selected, the timeline begins with it.
  const { step: asked } = selected.place;
  const step = useView("timeline", selected, asked === null ? null : { tracks: "", width: 1 }, asked);
  return (
    <Show resource={base}>
      {(result) =>
        asked === null ? (
          <Page key={selected.place.run} selected={selected} result={result} step={null} />
        ) : (
          <Show resource={step}>
            {({ start_ns, stop_ns }) => (
              <Page
                key={selected.place.run}
                selected={selected}
                result={result}
                step={{ start: start_ns, stop: stop_ns }}
              />
            )}
          </Show>
        )
      }
    </Show>
  );
}

function Page({ selected, result, step }: { selected: Selected; result: Result; step: Camera | null }) {
  const page = useRef<HTMLDivElement>(null);
  const hoverAt = useRef<number | null>(null);
  const { find } = state.value;
  const ranks = useRanks(selected, result);
  const tracks = useTracks(ranks);
  const { all, lines } = tracks;
  const view = useCamera(step ? around(step.start, step.stop, all) : whole(all));
  const { camera, move } = view;
  const [area, setArea] = useArea(tracks.numbers);
  const by = colorBy();
  const { scene, failure, busy, retry, onScroll } = useShownScene(page, tracks, camera, by === "module");
  const drawn = scene ?? result;
  const selection = useSelectedItem(selected, tracks);
  const search = useSearch(selected, find);
  const marks = useMarks();
  const [critical, setCritical] = useState<Critical | null>(null);
  const path = useSpots(critical, tracks.lanes[0]);
  const navigation = useNavigation({ page, tracks, view, area, setArea, selection, scene });
  useShortcuts({ tracks, view, area, setArea, selection, navigation, marks, search, hoverAt });
  const picked = usePicked({ find, selection, area, marks: marks.marks, by, path });
  return (
    <div class="timeline fill" ref={page} aria-busy={busy} data-testid="timeline">
      <Toolbar
        {...{ selected, step, ranks, tracks, view, area, find, search, critical }}
        marks={marks.marks}
        show={navigation.showOf(0)}
        onCritical={setCritical}
        page={() => page.current}
      />
      <FailedRanks failed={ranks.failed} />
      <Overview {...{ tracks, result, camera, move }} marks={marks.marks} />
      {failure && <Problem failure={failure} retry={retry} />}
      <TimeCanvas
        scene={drawn}
        camera={camera}
        lines={lines}
        all={all}
        picked={picked}
        onCamera={move}
        onArea={navigation.draw}
        onHover={(at) => {
          hoverAt.current = at;
        }}
        onScroll={onScroll}
        onArrow={navigation.walk}
        onPick={navigation.pickRectangle}
        onOpen={navigation.openRectangle}
        tooltip={(under) => <Tooltip scene={scene} base={result} under={under} />}
        heads={<Headings {...{ tracks, drawn, area, setArea }} />}
      />
      <Announcement {...selection} />
      <Panel
        {...{ tracks, area, setArea, selection, navigation }}
        toCanvas={() => page.current?.querySelector<HTMLElement>(".timecanvas")?.focus()}
      />
    </div>
  );
}

/** The rectangles of the part of time and of the tracks that is on the screen. */
function useShownScene(
  page: RefObject<HTMLDivElement | null>,
  { lanes, lines, arrangement }: Tracks,
  camera: Camera,
  modules: boolean,
) {
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  const width = useCanvasWidth(page);
  const shown = useScene({ lanes, camera, lines, arrangement, scroll, width, modules });
  return { ...shown, onScroll: (top: number, height: number): void => setScroll({ top, height }) };
}

function FailedRanks({ failed }: { failed: Ranks["failed"] }) {
  return (
    <>
      {failed.map(({ rank, failure: why }) => (
        <p key={rank} class="notice warn" data-testid="rank-failed">
          {texts.cannotShow(rank, why.message)}
        </p>
      ))}
    </>
  );
}

interface PickedProps {
  find: string | null;
  selection: SelectedItem;
  area: Area | null;
  marks: readonly number[];
  by: ReturnType<typeof colorBy>;
  path: ReturnType<typeof useSpots>;
}

/** What stands out on the canvas; the same object as long as nothing of it changes. */
function usePicked({ find, selection, area, marks, by, path }: PickedProps) {
  const found = useMemo(() => nameMatcher(find), [find]);
  const { spot, linked, lane, place } = selection;
  const arrows = useMemo(() => (linked && lane ? arrowsOf(linked, lane, place) : []), [linked, lane, place]);
  return useMemo(
    () => ({ item: spot, area, marks, arrows, found, by, path }),
    [spot, area, marks, arrows, found, by, path],
  );
}

interface OverviewProps {
  tracks: Tracks;
  result: Result;
  camera: Camera;
  move: (camera: Camera) => void;
  marks: readonly number[];
}

/** The whole recording in a strip. */
function Overview({ tracks, result, camera, move, marks }: OverviewProps) {
  const { all, lines, arrangement } = tracks;
  const density = useMemo(() => densityOf(result, PARTS), [result]);
  return (
    <Minimap
      camera={camera}
      all={all}
      of={{ start: 0, stop: result.end_ns }}
      density={density}
      marks={marks}
      onCamera={move}
      left={HEADS_PX}
    >
      <TrackFilter
        only={arrangement.only}
        none={!lines.some((line) => line.kind === "group" && line.key !== "")}
        set={(only) => tracks.arrange({ only })}
      />
    </Minimap>
  );
}

interface HeadingsProps {
  tracks: Tracks;
  drawn: Pick<Result, "counters" | "curves">;
  area: Area | null;
  setArea: (area: Area | null) => void;
}

function Headings({ tracks, drawn, area, setArea }: HeadingsProps) {
  const { lines, lanes } = tracks;
  return (
    <TrackHeadings
      lines={lines}
      lanes={lanes}
      counters={drawn.counters}
      curves={drawn.curves}
      chosen={area?.tracks ?? null}
      onChoose={(id) => {
        if (area?.tracks) setArea({ ...area, tracks: withTrackToggled(area.tracks, id) });
      }}
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

/** Below the canvas: the selected stretch of time, else the selected range. */
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
