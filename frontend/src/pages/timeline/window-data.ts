// What the timeline draws comes in windows: asked of each rank as the camera moves, a little more
// than is shown, and kept on the screen until the next one is there.
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Timeline } from "../../api/types";
import { span, type Camera } from "../../widgets/timeline/camera";
import { isFolded, trackId, trackOf, type Arrangement, type Line } from "../../widgets/timeline/track-layout";
import { asFailure, fetchView, type Failure } from "../../api/client";
import { useLatestCallback } from "../../lib/use-latest-callback";
import { entryAt } from "../../widgets/timeline/scene";
import { joinRanks, type DrawnScene, type Lane } from "./lanes";

/** How much more than the screen is asked for, on either side, as a share of it. */
const MARGIN = 0.5;
const SETTLED_MS = 60;
/** Rectangles of all ranks together. */
const MOST = 8000;
const MOST_OF_ONE = 5000;

interface Asked {
  key: string;
  window: Camera;
  /** ns per part of the answer. */
  fine: number;
}

/** By rank. */
type Got = ReadonlyMap<number, { asked: Asked; scene: Timeline }>;

export interface SceneState {
  scene: DrawnScene | null;
  failure: Failure | null;
  busy: boolean;
  retry: () => void;
}

/** What is asked of each rank: its tracks within a screen above and below what is shown. */
interface Wanted {
  at: number;
  rank: number;
  open: string;
  folded: string;
  key: string;
}

function wantedOf(
  lanes: readonly Lane[],
  lines: readonly Line[],
  arrangement: Arrangement,
  { top, height }: { top: number; height: number },
  modules: boolean,
): Wanted[] {
  const near = lines.filter(
    (line) =>
      (line.kind === "track" || line.kind === "counter") &&
      line.y + line.height > top - height &&
      line.y < top + 2 * height,
  );
  const shown = new Set(near.filter((line) => line.kind === "track").map((line) => line.id));
  let counters = 0;
  return lanes.flatMap(({ rank, base, selected }, at) => {
    const first = counters;
    counters += base.counters.length;
    const some = base.tracks
      .map((track) => ({ ...track, id: trackId(at, track.id) }))
      .filter((track) => shown.has(track.id));
    const curves = near.some((line) => line.kind === "counter" && line.id >= first && line.id < counters);
    if (at > 0 && some.length === 0 && !curves) return [];
    const [folded, open] = [true, false].map((is) =>
      some
        .filter((t) => isFolded(t, arrangement) === is)
        .map((t) => trackOf(t.id))
        .join(","),
    );
    const { run, span: number } = selected.place;
    return [
      {
        at,
        rank,
        open: open ?? "",
        folded: folded ?? "",
        key: JSON.stringify([run, rank, number, selected.stamp, open, folded, modules]),
      },
    ];
  });
}

/** What the canvas shows. */
interface OnScreen {
  lanes: readonly Lane[];
  camera: Camera;
  lines: readonly Line[];
  arrangement: Arrangement;
  scroll: { top: number; height: number };
  width: number;
  /** With the module of each range. */
  modules: boolean;
}

export function useScene({
  lanes,
  camera,
  lines,
  arrangement,
  scroll,
  width,
  modules,
}: OnScreen): SceneState {
  const [got, setGot] = useState<Got>(new Map());
  const [failure, setFailure] = useState<Failure | null>(null);
  const [attempt, setAttempt] = useState(0);
  const wanted = useMemo(
    () => wantedOf(lanes, lines, arrangement, scroll, modules),
    [lanes, lines, scroll, arrangement, modules],
  );
  const fine = span(camera) / width;
  const missing = wanted.filter(({ rank, key }) => !serves(got.get(rank)?.asked, key, camera, fine));
  const key = JSON.stringify([missing.map((one) => one.key), attempt]);
  const [isMissing, isFirst] = [missing.length > 0, got.size === 0];
  const ask = useLatestCallback((signal: AbortSignal) => {
    const most = Math.min(MOST_OF_ONE, Math.floor(MOST / wanted.length));
    return Promise.all(
      missing.map((one) => fetchWindow(one, lanes[one.at], camera, { width, most, modules }, signal)),
    );
  });
  useLayoutEffect(() => {
    if (!isMissing) return undefined;
    const controller = new AbortController();
    const begin = (): void => {
      if (controller.signal.aborted) return;
      ask(controller.signal).then(
        (answers) => {
          setFailure(null);
          setGot((before) => new Map([...before, ...answers.filter((answer) => answer !== null)]));
        },
        (error: unknown) => {
          if (!controller.signal.aborted) setFailure(asFailure(error));
        },
      );
    };
    // The first time, once the page is as large as it will be, and not a frame later.
    if (isFirst) queueMicrotask(begin);
    const timer = isFirst ? undefined : setTimeout(begin, SETTLED_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [isMissing, isFirst, key, camera.start, camera.stop, width, got]);
  const scene = useMemo(() => joinRanks(lanes, got), [lanes, got]);
  return { scene, failure, busy: isMissing, retry: () => setAttempt(attempt + 1) };
}

/** Asks one rank for what is on the screen and a little around it. */
async function fetchWindow(
  { rank, open, folded, key }: Wanted,
  lane: Lane | undefined,
  camera: Camera,
  { width, most, modules }: { width: number; most: number; modules: boolean },
  signal: AbortSignal,
): Promise<[number, { asked: Asked; scene: Timeline }] | null> {
  if (!lane) return null;
  const window = {
    start: Math.floor(camera.start - MARGIN * span(camera)),
    stop: Math.ceil(camera.stop + MARGIN * span(camera)),
  };
  const options = {
    start_ns: window.start - lane.shift,
    stop_ns: window.stop - lane.shift,
    width: Math.min(4000, Math.round(width * (1 + 2 * MARGIN))),
    tracks: open,
    folded,
    most,
    modules,
  };
  const scene = await fetchView("timeline", { ...lane.selected.place, step: null }, options, { signal });
  return [rank, { asked: { key, window, fine: span(camera) / width }, scene }];
}

/** Whether an answer is as fine as the screen and covers it. */
function serves(asked: Asked | undefined, key: string, camera: Camera, fine: number): boolean {
  if (!asked || asked.key !== key) return false;
  const ratio = asked.fine / fine;
  return ratio > 0.6 && ratio < 1.2 && asked.window.start <= camera.start && asked.window.stop >= camera.stop;
}

/** How busy the first device is over the whole recording, in equal parts, for the strip on top. */
export function densityOf(base: Timeline, parts: number): number[] {
  const curve = base.counters.find((counter) => counter.what === "utilization");
  if (!curve) return [];
  const part = (base.stop_ns - base.start_ns) / parts;
  return Array.from({ length: parts }, (_, i) => {
    const entry = entryAt(base.curves, curve, base.start_ns + i * part);
    return entry === null ? 0 : (base.curves.value[entry] ?? 0);
  });
}
