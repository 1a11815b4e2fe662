// The timeline of a report: the levels of detail that it has, and no more.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { TimelineLevel, ReportPlace, Timeline } from "../api/types";
import { count, duration } from "../lib/format";
import { useUnchanged } from "../lib/use-unchanged";
import { Legend, useHidden } from "../pages/timeline/legend";
import { Tooltip } from "../pages/timeline/tooltip";
import { sceneOf, type DrawnScene } from "../pages/timeline/lanes";
import { TrackHeadings } from "../pages/timeline/track-headings";
import { useCamera } from "../pages/timeline/url-state";
import { useSizes } from "../pages/timeline/use-sizes";
import { headingActions, useTracks, type Tracks } from "../pages/timeline/use-tracks";
import { densityOf } from "../pages/timeline/window-data";
import {
  around,
  middle,
  panned,
  showing,
  span,
  whole,
  zoomed,
  type Camera,
} from "../widgets/timeline/camera";
import { TimeCanvas } from "../widgets/timeline/canvas";
import { withoutHidden } from "../widgets/timeline/legend";
import { Minimap } from "../widgets/timeline/minimap";
import { neighbour, type Spot } from "../widgets/timeline/scene";
import { report as texts } from "../i18n/report";
import { readLevel, type ReportData } from "./data";
import { goals, levelFor } from "./levels";
import { placeSelected } from "./place";
import "../pages/shared/card.css";
import "../widgets/controls/segmented.css";

const PARTS = 600;
const CLOSER = 0.6;
const ASIDE = 0.25;

export function ReportTimeline({ data, place }: { data: ReportData; place: ReportPlace }) {
  const { levels, left_out: leftOut } = data.timeline;
  const base = useLevel(levels[0]);
  if (levels.length === 0) return <p class="muted">{texts.noTimeline}</p>;
  if (!base) return <div class="skeleton late" style={{ "--lines": 16 }} />;
  return (
    <>
      <Loaded base={base} levels={levels} place={place} />
      {leftOut > 0 && <p class="muted small">{texts.leftOut(leftOut)}</p>}
    </>
  );
}

/** The timeline of a level, once it is unpacked. */
function useLevel(level: TimelineLevel | undefined): Timeline | null {
  const [got, setGot] = useState<{ id: string; scene: Timeline } | null>(null);
  useEffect(() => {
    let isLast = true;
    if (level)
      void readLevel(level).then((scene) => {
        if (isLast) setGot({ id: level.id, scene });
      });
    return () => {
      isLast = false;
    };
  }, [level]);
  return got && got.id === level?.id ? got.scene : null;
}

interface LoadedProps {
  base: Timeline;
  levels: readonly TimelineLevel[];
  place: ReportPlace;
}

/** What is shown of the recording, and the ways to move over it. */
function useShown({ base, levels, place }: LoadedProps) {
  const sizes = useSizes();
  const ranks = useMemo(
    () => ({ lanes: [{ rank: place.rank, selected: placeSelected(place), base, shift: 0 }], known: [] }),
    [base, place],
  );
  const tracks = useTracks(ranks, sizes.rows);
  const { all, lines } = tracks;
  const { camera, move } = useCamera(whole(all));
  const level = levelFor(levels, camera, base.end_ns);
  const found = useLevel(level) ?? base;
  const everything = useMemo(() => sceneOf(found), [found]);
  const hidden = useHidden();
  const scene = useMemo(() => withoutHidden(everything, "kind", hidden), [everything, hidden]);
  const [area, setArea] = useState<Camera | null>(null);
  const [picked, setPicked] = useState<Spot | null>(null);
  const pick = (index: number | null): void => setPicked(index === null ? null : spotAt(scene, index));
  const open = (index: number): void => {
    const spot = spotAt(scene, index);
    if (spot) move(around(spot.start, spot.end, all));
  };
  const walk = (key: string): void => {
    const to = neighbour(scene, lines, camera, indexOf(scene, picked), key);
    const spot = to === null ? null : spotAt(scene, to);
    if (!spot) return;
    setPicked(spot);
    move(showing(camera, spot.start, spot.end, all));
  };
  const zoomArea = (): void => {
    if (area) move(around(area.start, area.stop, all));
    setArea(null);
  };
  return {
    ...{ sizes, tracks, all, lines, camera, move, level, everything, hidden, scene },
    ...{ area, setArea, picked, pick, open, walk, zoomArea },
  };
}

function Loaded(props: LoadedProps) {
  const { base, levels } = props;
  const shown = useShown(props);
  const { sizes, tracks, all, lines, camera, move, level, scene, area, setArea, picked } = shown;
  const marked = useMarked(picked, area);
  const heads = useHeads(tracks, scene, sizes);
  const density = useMemo(() => densityOf(base, PARTS), [base]);
  const onKey = useKeys(shown);
  return (
    <div class="reporttimeline" onKeyDown={onKey} data-testid="timeline" data-level={level?.id ?? ""}>
      <Toolbar {...{ camera, all, move, levels }}>
        {area && (
          <>
            <span>{texts.area(duration(Math.round(area.stop - area.start)))}</span>
            <button type="button" onClick={shown.zoomArea}>
              {texts.zoomToArea}
            </button>
          </>
        )}
      </Toolbar>
      <Minimap
        {...{ camera, all, density }}
        of={{ start: 0, stop: base.end_ns }}
        marks={[]}
        onCamera={move}
        left={sizes.heads}
      />
      <Legend scene={shown.everything} by="kind" hidden={shown.hidden} />
      <TimeCanvas
        {...{ scene, camera, lines, all, heads }}
        picked={marked}
        onCamera={move}
        onArea={({ start, stop }) => setArea({ start, stop })}
        onHover={() => undefined}
        onScroll={() => undefined}
        onArrow={shown.walk}
        onPick={(index) => {
          setArea(null);
          shown.pick(index);
        }}
        onOpen={shown.open}
        tooltip={(under) => <Tooltip scene={scene} base={scene} under={under} window_ns={span(camera)} />}
        left={sizes.heads}
        onLeft={sizes.setHeads}
      />
      <Detail {...{ scene, picked }} level={level} />
    </div>
  );
}

/** What stands out on the canvas; the same object as long as nothing of it changes. */
function useMarked(item: Spot | null, area: Camera | null) {
  return useMemo(
    () => ({
      item,
      area: area && { ...area, tracks: null },
      marks: [],
      arrows: [],
      found: null,
      by: "kind" as const,
      path: [],
    }),
    [item, area],
  );
}

function useHeads(tracks: Tracks, scene: DrawnScene, sizes: ReturnType<typeof useSizes>) {
  const { lines, lanes } = tracks;
  return useUnchanged(
    <TrackHeadings
      {...{ lines, lanes }}
      counters={scene.counters}
      curves={scene.curves}
      devices={scene.devices}
      chosen={null}
      onChoose={() => undefined}
      onRow={sizes.setRow}
      {...headingActions(tracks)}
    />,
    [lines, lanes, tracks.arrangement, scene, sizes.rows],
  );
}

interface Moving {
  camera: Camera;
  all: Camera;
  move: (camera: Camera) => void;
}

/** The keys of the dashboard's timeline, while the focus is on this one. */
function useKeys({ camera, all, move, zoomArea }: Moving & { zoomArea: () => void }) {
  const keys: Record<string, () => void> = {
    w: () => move(zoomed(camera, CLOSER, middle(camera), all)),
    s: () => move(zoomed(camera, 1 / CLOSER, middle(camera), all)),
    a: () => move(panned(camera, -ASIDE, all)),
    d: () => move(panned(camera, ASIDE, all)),
    f: zoomArea,
    0: () => move(whole(all)),
  };
  return (event: KeyboardEvent): void => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    act();
    event.preventDefault();
  };
}

interface ToolbarProps extends Moving {
  levels: readonly TimelineLevel[];
  children: ComponentChildren;
}

function Toolbar({ camera, all, move, levels, children }: ToolbarProps) {
  const button = (label: string, sign: string, to: Camera) => (
    <button type="button" title={label} aria-label={label} onClick={() => move(to)}>
      {sign}
    </button>
  );
  return (
    <div class="toolbar">
      <span class="segmented">
        {button(texts.zoomIn, "+", zoomed(camera, CLOSER, middle(camera), all))}
        {button(texts.zoomOut, "−", zoomed(camera, 1 / CLOSER, middle(camera), all))}
        {button(texts.left, "←", panned(camera, -ASIDE, all))}
        {button(texts.right, "→", panned(camera, ASIDE, all))}
      </span>
      <button type="button" onClick={() => move(whole(all))} data-testid="fit-all">
        {texts.whole}
      </button>
      <Goals levels={levels} move={move} />
      {children}
      <span class="muted small keys">{texts.keys}</span>
    </div>
  );
}

/** The parts that the report has in finer detail. */
function Goals({ levels, move }: { levels: readonly TimelineLevel[]; move: (camera: Camera) => void }) {
  const all = goals(levels);
  if (all.length === 0) return null;
  return (
    <label class="goals">
      {texts.finer}{" "}
      <select
        class="quiet"
        value=""
        data-testid="goals"
        onChange={(e) => {
          const goal = all[Number(e.currentTarget.value)];
          if (goal) move(goal.camera);
          e.currentTarget.value = "";
        }}
      >
        <option value="">–</option>
        {all.map(({ label, kind }, i) => (
          <option key={i} value={i}>
            {kind === "step" ? label : texts.stretch(label)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The selected range, and how fine what is shown is. */
function Detail({
  scene,
  picked,
  level,
}: {
  scene: DrawnScene;
  picked: Spot | null;
  level: TimelineLevel | undefined;
}) {
  const index = indexOf(scene, picked);
  return (
    <div class="timedetail" role="status">
      {index !== null && (
        <div data-testid="picked">
          <Tooltip
            scene={scene}
            base={scene}
            under={{ kind: "rectangle", index }}
            window_ns={scene.rectangles.length_ns[index] ?? 0}
          />
        </div>
      )}
      {level && (
        <p class="muted small" data-testid="detail" data-merged={level.merged}>
          {level.merged === 0
            ? texts.exact(count(level.rectangles))
            : texts.merged(count(level.rectangles), count(level.merged))}
        </p>
      )}
    </div>
  );
}

function spotAt({ rectangles: r }: DrawnScene, i: number): Spot | null {
  const start = r.start_ns[i];
  if (start === undefined) return null;
  return { track: r.track[i] ?? 0, row: r.row[i] ?? 0, start, end: start + (r.length_ns[i] ?? 0) };
}

/** The rectangle of a spot in a scene: in another level it may be part of a merged one. */
function indexOf({ rectangles: r }: DrawnScene, spot: Spot | null): number | null {
  if (!spot) return null;
  let found: number | null = null;
  for (let i = 0; i < r.track.length; i += 1)
    if (r.track[i] === spot.track && r.row[i] === spot.row && (r.start_ns[i] ?? 0) <= spot.start) found = i;
  return found;
}
