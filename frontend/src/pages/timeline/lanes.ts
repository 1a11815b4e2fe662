// The ranks on the timeline, and what they draw as one scene.
import type { Timeline, Track } from "../../api/types";
import type { Selected } from "../../state/selection";
import type { Curves, DeviceShares, Rectangles, Scene } from "../../widgets/timeline/scene";
import { sectionOf, trackId, trackOf } from "../../widgets/timeline/track-layout";

/** In the place of a rank's number, the baseline of the comparison: another recording. */
export const BASE = -1;

/** One rank on the timeline. */
export interface Lane {
  rank: number;
  selected: Selected;
  base: Timeline;
  /** To be added to its times. */
  shift: number;
}

/** What is drawn, of all ranks. */
export interface DrawnScene extends Scene {
  counters: Timeline["counters"];
  /** How far off all inferred starts may be together. */
  shift_bound_ns: number;
  /** The end of what was asked for. */
  stop_ns: number;
  table_names: readonly string[];
}

/** A track by its number among those of all ranks. */
export function trackIn(lanes: readonly Lane[], id: number): Track | undefined {
  return lanes[sectionOf(id)]?.base.tracks.find((one) => one.id === trackOf(id));
}

/** The summaries of a rank's devices on the clock of the first rank. */
function devicesOf({ start_ns, stop_ns, summaries, summary_parts: parts, shares }: Timeline, shift: number) {
  return summaries.map(
    ({ inferred, families, busy_ns, first }): DeviceShares => ({
      inferred,
      start: start_ns + shift,
      stop: stop_ns + shift,
      families: families.map((kind, i) => ({
        kind,
        busy_ns: busy_ns[i] ?? 0,
        per_mille: shares.subarray(first + i * parts, first + (i + 1) * parts),
      })),
    }),
  );
}

/** The scene of one rank, which is the only one. */
export const sceneOf = (scene: Timeline): DrawnScene => ({ ...scene, devices: devicesOf(scene, 0) });

/** The scene of a rank, if it is there. */
type Scenes = ReadonlyMap<number, { scene: Timeline }>;

interface Part {
  lane: Lane;
  /** The place of the rank. */
  at: number;
  scene: Timeline;
}

/** All ranks as one scene, on the clock of the first. */
export function joinRanks(lanes: readonly Lane[], scenes: Scenes): DrawnScene | null {
  const first = lanes[0] && scenes.get(lanes[0].rank)?.scene;
  if (!first || lanes.length === 1) return first ? sceneOf(first) : null;
  const parts = lanes.flatMap((lane, at) => {
    const scene = scenes.get(lane.rank)?.scene;
    return scene ? [{ lane, at, scene }] : [];
  });
  const { curves, firstPoint } = joinedCurves(parts);
  const counters = lanes.flatMap((lane, at) => {
    const scene = scenes.get(lane.rank)?.scene;
    return scene
      ? scene.counters.map((c) => ({ ...c, first: c.first + (firstPoint.get(at) ?? 0) }))
      : lane.base.counters.map((c) => ({ ...c, first: 0, points: 0 }));
  });
  return {
    rectangles: joinedRectangles(parts),
    names: parts.flatMap(({ scene }) => scene.names),
    full_names: parts.flatMap(({ scene }) => scene.full_names),
    modules: parts.flatMap(({ scene }) => scene.modules),
    kinds: first.kinds,
    launchers: parts.flatMap(({ scene }) => scene.launchers),
    looks: first.looks,
    table_names: first.table_names,
    counters,
    curves,
    devices: lanes.flatMap((lane) => devicesOf(scenes.get(lane.rank)?.scene ?? lane.base, lane.shift)),
    stop_ns: first.stop_ns,
    shift_bound_ns: Math.max(...parts.map(({ scene }) => scene.shift_bound_ns)),
  };
}

const AS_THEY_ARE = [
  "row",
  "length_ns",
  "busy_ns",
  "count",
  "table",
  "index",
  "kind",
  "look",
  "bound_ns",
] as const;

function joinedRectangles(parts: readonly Part[]): Rectangles {
  const size = parts.reduce((sum, { scene }) => sum + scene.rectangles.row.length, 0);
  const all = {
    track: new Int32Array(size),
    row: new Int16Array(size),
    start_ns: new Float64Array(size),
    length_ns: new Float64Array(size),
    busy_ns: new Float32Array(size),
    count: new Int32Array(size),
    table: new Int8Array(size),
    index: new Int32Array(size),
    name: new Int32Array(size),
    launcher: new Int32Array(size),
    kind: new Int8Array(size),
    look: new Int8Array(size),
    bound_ns: new Float32Array(size),
    module: new Int32Array(size),
  };
  let [done, names, launchers, modules] = [0, 0, 0, 0];
  for (const { lane, at, scene } of parts) {
    const { rectangles: own } = scene;
    const [firstName, firstLauncher, firstModule] = [names, launchers, modules];
    const tracks = Int32Array.from(own.track, (track) => trackId(at, track));
    const starts = own.start_ns.map((ns) => ns + lane.shift);
    const numbered = own.name.map((name) => name + firstName);
    const from = own.launcher.map((launcher) => (launcher < 0 ? -1 : launcher + firstLauncher));
    const within = Int32Array.from(own.module, (module) => (module < 0 ? -1 : module + firstModule));
    for (const column of AS_THEY_ARE) all[column].set(own[column], done);
    all.track.set(tracks, done);
    all.start_ns.set(starts, done);
    all.name.set(numbered, done);
    all.launcher.set(from, done);
    all.module.set(within, done);
    done += own.row.length;
    names += scene.names.length;
    launchers += scene.launchers.length;
    modules += scene.modules.length;
  }
  return all;
}

/** The points of all counters, and by the place of each rank where its own begin. */
function joinedCurves(parts: readonly Part[]): { curves: Curves; firstPoint: Map<number, number> } {
  const size = parts.reduce((sum, { scene }) => sum + scene.curves.at_ns.length, 0);
  const curves = {
    at_ns: new Float64Array(size),
    value: new Float64Array(size),
    bound: new Float32Array(size),
  };
  const firstPoint = new Map<number, number>();
  let done = 0;
  for (const { lane, at, scene } of parts) {
    const times = scene.curves.at_ns.map((ns) => ns + lane.shift);
    curves.at_ns.set(times, done);
    curves.value.set(scene.curves.value, done);
    curves.bound.set(scene.curves.bound, done);
    firstPoint.set(at, done);
    done += times.length;
  }
  return { curves, firstPoint };
}
