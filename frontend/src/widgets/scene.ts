// What a timeline draws: rectangles in columns, as they came over the wire, and what is picked.
import type { Camera } from "../base/camera";
import { ROW_PX, type Line } from "../base/tracks";

export interface Rectangles {
  track: Int16Array;
  row: Int16Array;
  start_ns: Float64Array;
  length_ns: Float32Array;
  busy_ns: Float32Array;
  count: Int32Array;
  table: Int8Array;
  index: Int32Array;
  name: Int32Array;
  kind: Int8Array;
  look: Int8Array;
  bound_ns: Float32Array;
}

export interface Counter {
  label: string;
  unit: string;
  first: number;
  points: number;
}

/** Of all counters: each value holds from its time on. */
export interface Curves {
  at_ns: Float64Array;
  value: Float64Array;
}

export interface Scene {
  rectangles: Rectangles;
  names: readonly string[];
  kinds: readonly string[];
  looks: readonly string[];
  counters: readonly Counter[];
  curves: Curves;
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
  return line.y + row * ROW_PX;
}

/** The rectangle at a place of the canvas: the first that holds it, else the nearest within 3 px. */
export function hit(scene: Scene, lines: Map<number, Line>, camera: Camera, width: number, x: number, y: number): number | null {
  const line = [...lines.values()].find((one) => y >= one.y && y < one.y + one.height);
  if (!line) return null;
  const row = Math.floor((y - line.y) / ROW_PX);
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
