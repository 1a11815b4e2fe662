// What the timeline draws comes in windows: asked of each rank as the camera moves, a little more
// than is shown, and kept on the screen until the next one is there.
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Timeline, Track } from "../../api/types";
import { span, type Camera } from "../../widgets/timeline/camera";
import {
  isFolded,
  sectionOf,
  trackId,
  trackOf,
  type Arrangement,
  type Line,
} from "../../widgets/timeline/track-layout";
import { asFailure, fetchView, type Failure } from "../../api/client";
import type { Selected } from "../../state/selection";
import { entryAt, type Scene } from "../../widgets/timeline/scene";

/** How much more than the screen is asked for, on either side, as a share of it. */
const MARGIN = 0.5;
const SETTLED_MS = 60;
/** Rectangles of all ranks together. */
const MOST = 8000;
const MOST_OF_ONE = 5000;

/** One rank on the timeline. */
export interface Lane {
  rank: number;
  selected: Selected;
  base: Timeline;
  /** To be added to its times. */
  shift: number;
}

/** What is drawn, of all ranks. */
export interface Drawn extends Scene {
  counters: Timeline["counters"];
  /** The end of what was asked for. */
  stop_ns: number;
  table_names: readonly string[];
}

interface Asked {
  key: string;
  window: Camera;
  /** ns per part of the answer. */
  fine: number;
}

/** By rank. */
type Got = ReadonlyMap<number, { asked: Asked; scene: Timeline }>;

export interface Shown {
  scene: Drawn | null;
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

export function useScene(
  lanes: readonly Lane[],
  camera: Camera,
  lines: readonly Line[],
  arrangement: Arrangement,
  scroll: { top: number; height: number },
  width: number,
  modules: boolean,
): Shown {
  const [got, setGot] = useState<Got>(new Map());
  const [failure, setFailure] = useState<Failure | null>(null);
  const [attempt, setAttempt] = useState(0);
  const wanted = useMemo(
    () => wantedOf(lanes, lines, arrangement, scroll, modules),
    [lanes, lines, scroll.top, scroll.height, arrangement, modules],
  );
  const fine = span(camera) / width;
  const missing = wanted.filter(({ rank, key }) => !serves(got.get(rank)?.asked, key, camera, fine));
  const key = JSON.stringify([missing.map((one) => one.key), attempt]);
  useLayoutEffect(() => {
    if (missing.length === 0) return undefined;
    const window = {
      start: Math.floor(camera.start - MARGIN * span(camera)),
      stop: Math.ceil(camera.stop + MARGIN * span(camera)),
    };
    const controller = new AbortController();
    const most = Math.min(MOST_OF_ONE, Math.floor(MOST / wanted.length));
    const ask = async (one: Wanted): Promise<[number, { asked: Asked; scene: Timeline }] | null> => {
      const lane = lanes[one.at];
      if (!lane) return null;
      const options = {
        start_ns: window.start - lane.shift,
        stop_ns: window.stop - lane.shift,
        width: Math.min(4000, Math.round(width * (1 + 2 * MARGIN))),
        tracks: one.open,
        folded: one.folded,
        most,
        modules,
      };
      const scene = await fetchView("timeline", { ...lane.selected.place, step: null }, options, {
        signal: controller.signal,
      });
      return [one.rank, { asked: { key: one.key, window, fine }, scene }];
    };
    const begin = (): void => {
      if (controller.signal.aborted) return;
      Promise.all(missing.map(ask)).then(
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
    if (got.size === 0) queueMicrotask(begin);
    const timer = got.size > 0 ? setTimeout(begin, SETTLED_MS) : undefined;
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key, camera.start, camera.stop, width, got]);
  const scene = useMemo(() => joined(lanes, got), [lanes, got]);
  return { scene, failure, busy: missing.length > 0, retry: () => setAttempt(attempt + 1) };
}

/** Whether an answer is as fine as the screen and covers it. */
function serves(asked: Asked | undefined, key: string, camera: Camera, fine: number): boolean {
  if (!asked || asked.key !== key) return false;
  const ratio = asked.fine / fine;
  return ratio > 0.6 && ratio < 1.2 && asked.window.start <= camera.start && asked.window.stop >= camera.stop;
}

/** All ranks as one scene, on the clock of the first. */
function joined(lanes: readonly Lane[], got: Got): Drawn | null {
  const first = lanes[0] && got.get(lanes[0].rank)?.scene;
  if (!first || lanes.length === 1) return first ?? null;
  const parts = lanes.flatMap((lane, at) => {
    const scene = got.get(lane.rank)?.scene;
    return scene ? [{ lane, at, scene }] : [];
  });
  const modules = parts.flatMap(({ scene }) => scene.modules);
  const names = parts.flatMap(({ scene }) => scene.names);
  const size = parts.reduce((sum, { scene }) => sum + scene.rectangles.row.length, 0);
  const points = parts.reduce((sum, { scene }) => sum + scene.curves.at_ns.length, 0);
  const r = {
    track: new Int32Array(size),
    row: new Int16Array(size),
    start_ns: new Float64Array(size),
    length_ns: new Float64Array(size),
    busy_ns: new Float32Array(size),
    count: new Int32Array(size),
    table: new Int8Array(size),
    index: new Int32Array(size),
    name: new Int32Array(size),
    kind: new Int8Array(size),
    look: new Int8Array(size),
    bound_ns: new Float32Array(size),
    module: new Int32Array(size),
  };
  const curves = {
    at_ns: new Float64Array(points),
    value: new Float64Array(points),
    bound: new Float32Array(points),
  };
  let [done, drawn, before, within] = [0, 0, 0, 0];
  const firstPoint = new Map<number, number>();
  for (const { lane, at, scene } of parts) {
    const { rectangles: own } = scene;
    for (const column of [
      "row",
      "length_ns",
      "busy_ns",
      "count",
      "table",
      "index",
      "kind",
      "look",
      "bound_ns",
    ] as const)
      r[column].set(own[column], done);
    r.track.set(
      Int32Array.from(own.track, (track) => trackId(at, track)),
      done,
    );
    r.start_ns.set(
      own.start_ns.map((ns) => ns + lane.shift),
      done,
    );
    r.name.set(
      own.name.map((name) => name + before),
      done,
    );
    r.module.set(
      Int32Array.from(own.module, (module) => (module < 0 ? -1 : module + within)),
      done,
    );
    curves.at_ns.set(
      scene.curves.at_ns.map((ns) => ns + lane.shift),
      drawn,
    );
    curves.value.set(scene.curves.value, drawn);
    curves.bound.set(scene.curves.bound, drawn);
    firstPoint.set(at, drawn);
    done += own.row.length;
    drawn += scene.curves.at_ns.length;
    before += scene.names.length;
    within += scene.modules.length;
  }
  const counters = lanes.flatMap((lane, at) => {
    const scene = got.get(lane.rank)?.scene;
    return scene
      ? scene.counters.map((c) => ({ ...c, first: c.first + (firstPoint.get(at) ?? 0) }))
      : lane.base.counters.map((c) => ({ ...c, first: 0, points: 0 }));
  });
  return {
    rectangles: r,
    names,
    modules,
    kinds: first.kinds,
    looks: first.looks,
    table_names: first.table_names,
    counters,
    curves,
    stop_ns: first.stop_ns,
  };
}

/** A track by its number among those of all ranks. */
export function trackIn(lanes: readonly Lane[], id: number): Track | undefined {
  return lanes[sectionOf(id)]?.base.tracks.find((one) => one.id === trackOf(id));
}

/** How busy the first device is over the whole recording, in equal parts, for the strip on top. */
export function densityOf(base: Timeline, parts: number): number[] {
  const curve = base.counters.find((counter) => counter.what === "utilisation");
  if (!curve) return [];
  const part = (base.stop_ns - base.start_ns) / parts;
  return Array.from({ length: parts }, (_, i) => {
    const entry = entryAt(base.curves, curve, base.start_ns + i * part);
    return entry === null ? 0 : (base.curves.value[entry] ?? 0);
  });
}
