// What a timeline draws: rectangles in columns, as they came over the wire, and what is picked.
import type { Rectangles as OfRank, Summary } from "../../api/types";
import type { Camera } from "./camera";
import { GAP_PX, type Line } from "./track-layout";

/** Of several ranks, more tracks and modules than 16 bits count; `launcher` is -1 without an operator. */
export interface Rectangles extends Omit<OfRank, "track" | "module"> {
  track: Int16Array | Int32Array;
  /** -1 outside of modules, and where nobody asked. */
  module: Int16Array | Int32Array;
}

/** What part of the timeline the canvas shows. */
export interface View {
  camera: Camera;
  lines: readonly Line[];
  width: number;
  height: number;
  /** How far it is scrolled down. */
  top: number;
}

/** What a rectangle's color tells. */
export type ColorBy = "kind" | "name" | "module";

export interface Counter {
  label: string;
  unit: string;
  inferred: boolean;
  first: number;
  points: number;
}

/** Of all counters: each value holds from its time on. */
export interface Curves {
  at_ns: Float64Array;
  value: Float64Array;
  /** How far off the value may be; -1 where nothing tells. */
  bound: Float32Array;
}

/** The share of time in which kernels of a family run, in equal parts of a window. */
export interface FamilyShares {
  kind: Summary["families"][number];
  /** In the whole recording. */
  busy_ns: number;
  per_mille: Int16Array;
}

/** A device's busy time; the families tile it. */
export interface DeviceShares {
  inferred: boolean;
  start: number;
  stop: number;
  families: readonly FamilyShares[];
}

export interface Scene {
  rectangles: Rectangles;
  names: readonly string[];
  /** Of kernels, as their compiler wrote them; null if that is the name. */
  full_names: readonly (string | null)[];
  kinds: readonly string[];
  launchers: readonly string[];
  looks: readonly string[];
  modules: readonly string[];
  counters: readonly Counter[];
  curves: Curves;
  /** Of all devices of all ranks. */
  devices: readonly DeviceShares[];
}

/** A range somewhere in the timeline, on the screen or not. */
export interface Spot {
  track: number;
  row: number;
  start: number;
  end: number;
}

/** A line between two ranges. */
export interface Arrow {
  from: Spot;
  to: Spot;
  kind: "launch" | "backward";
}

/** The line of each track that is drawn. */
export function linesByTrack(lines: readonly Line[]): Map<number, Line> {
  return new Map(lines.filter((line) => line.kind === "track").map((line) => [line.id, line]));
}

/** The top of a row, or null where its track does not show it. */
export function rowTop(line: Line | undefined, row: number): number | null {
  if (!line || (line.folded && row > 0)) return null;
  return line.y + row * line.row_px;
}

/** The rectangle at a place of the canvas: the first that holds it, else the nearest within 3 px. */
export function hit(
  scene: Scene,
  lines: Map<number, Line>,
  camera: Camera,
  width: number,
  x: number,
  y: number,
): number | null {
  const line = [...lines.values()].find((one) => y >= one.y && y < one.y + one.height);
  if (!line) return null;
  const row = Math.floor((y - line.y) / line.row_px);
  const { rectangles } = scene;
  const scale = (camera.stop - camera.start) / width;
  const at = camera.start + x * scale;
  let nearest: number | null = null;
  let least = 3 * scale;
  for (let i = 0; i < rectangles.start_ns.length; i += 1) {
    if (rectangles.track[i] !== line.id || rectangles.row[i] !== row) continue;
    const start = rectangles.start_ns[i] ?? 0;
    const away = Math.max(start - at, at - (start + (rectangles.length_ns[i] ?? 0)));
    if (away <= 0) return i;
    if (away < least) [nearest, least] = [i, away];
  }
  return nearest;
}

/** The rectangle that an arrow key leads to from one, or to begin with; null if there is none.
 * Left and right stay in the row; up and down go to the row, or the line, above and below. */
export function neighbour(
  scene: Scene,
  lines: readonly Line[],
  camera: Camera,
  from: number | null,
  key: string,
): number | null {
  const { track, row, start_ns: start } = scene.rectangles;
  const places = lines
    .filter((line) => line.kind === "track")
    .flatMap((line) =>
      Array.from(
        { length: line.folded ? 1 : Math.max(1, Math.round((line.height - GAP_PX) / line.row_px)) },
        (_, r) => ({ track: line.id, row: r }),
      ),
    );
  const rows = rowsOf(scene);
  if (from === null) {
    const first = places.flatMap((place) => rows.get(keyOf(place.track, place.row)) ?? [])[0];
    return first === undefined ? null : nearest(scene.rectangles, first, camera.start);
  }
  const own = { track: track[from] ?? -1, row: row[from] ?? -1 };
  if (key === "ArrowRight" || key === "ArrowLeft") {
    const to = from + (key === "ArrowRight" ? 1 : -1);
    return track[to] === own.track && row[to] === own.row ? to : null;
  }
  const by = key === "ArrowDown" ? 1 : -1;
  for (
    let at = places.findIndex((p) => p.track === own.track && p.row === own.row) + by;
    at >= 0 && at < places.length;
    at += by
  ) {
    const place = places[at];
    const span = place && rows.get(keyOf(place.track, place.row));
    if (span) return nearest(scene.rectangles, span, Math.max(start[from] ?? 0, camera.start));
  }
  return null;
}

const keyOf = (track: number, row: number): number => track * 65_536 + row;

/** Where the rectangles of each row begin and end: they come by track, row and start. */
function rowsOf({ rectangles: { track, row } }: Scene): Map<number, { first: number; last: number }> {
  const found = new Map<number, { first: number; last: number }>();
  for (let i = 0; i < track.length; i += 1) {
    const key = keyOf(track[i] ?? 0, row[i] ?? 0);
    const span = found.get(key);
    if (span) span.last = i;
    else found.set(key, { first: i, last: i });
  }
  return found;
}

/** The first of a row's rectangles that ends behind a time, else its last. */
function nearest(
  { start_ns: start, length_ns: length }: Rectangles,
  { first, last }: { first: number; last: number },
  at: number,
): number {
  let found = first;
  while (found < last && (start[found] ?? 0) + (length[found] ?? 0) <= at) found += 1;
  return found;
}

/** What lies at a place: a rectangle, a counter and its entry that holds there, or a device's summary
 * and its part. */
export type HitTarget =
  | { kind: "rectangle"; index: number }
  | { kind: "counter"; counter: Counter; entry: number }
  | { kind: "summary"; device: DeviceShares; part: number };

/** The counter or the device summary at a place of the canvas, where it has a value. */
export function valueAt(
  scene: Scene,
  lines: readonly Line[],
  camera: Camera,
  width: number,
  x: number,
  y: number,
): HitTarget | null {
  const line = lines.find((one) => y >= one.y && y < one.y + one.height);
  const time = camera.start + (x / width) * (camera.stop - camera.start);
  const counter = line?.kind === "counter" ? scene.counters[line.id] : undefined;
  if (counter) {
    const entry = entryAt(scene.curves, counter, time);
    return entry === null ? null : { kind: "counter", counter, entry };
  }
  const device = line?.kind === "summary" ? scene.devices[line.id] : undefined;
  const part = device ? partAt(device, time) : null;
  return device && part !== null ? { kind: "summary", device, part } : null;
}

/** The part of a summary's window that holds a time. */
export function partAt({ start, stop, families }: DeviceShares, time: number): number | null {
  const parts = families[0]?.per_mille.length ?? 0;
  const part = Math.floor(((time - start) / (stop - start)) * parts);
  return part >= 0 && part < parts ? part : null;
}

/** The last entry of a counter that is not behind a time, or null before the first. */
export function entryAt({ at_ns }: Curves, { first, points }: Counter, time: number): number | null {
  let [low, high] = [first, first + points];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((at_ns[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low > first ? low - 1 : null;
}
