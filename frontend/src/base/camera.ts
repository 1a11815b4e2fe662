// The part of the recording that a timeline shows, in ns, and how it moves.

export interface Camera {
  start: number;
  stop: number;
}

/** No closer than this: a screen of a few ns tells nothing. */
const CLOSEST_NS = 20;
/** How far beyond the recording one may look, as a share of what is shown. */
const BEYOND = 0.5;

export const span = (camera: Camera): number => camera.stop - camera.start;

/** Bigger (`factor` < 1) or smaller around a time that stays where it is. */
export function zoomed(camera: Camera, factor: number, at: number, end: number): Camera {
  const size = Math.min(Math.max(span(camera) * factor, CLOSEST_NS), Math.max(end * 1.1, CLOSEST_NS));
  const share = (at - camera.start) / span(camera);
  return kept({ start: at - share * size, stop: at + (1 - share) * size }, end);
}

/** Moved by a share of what is shown. */
export function panned(camera: Camera, share: number, end: number): Camera {
  const by = share * span(camera);
  return kept({ start: camera.start + by, stop: camera.stop + by }, end);
}

/** The whole recording, with a little room. */
export function whole(end: number): Camera {
  const room = Math.max(1, end) * 0.01;
  return { start: -room, stop: Math.max(1, end) + room };
}

/** A range with room around it; nothing shorter than what can be told apart. */
export function around(start: number, stop: number, end: number): Camera {
  const size = Math.max(stop - start, CLOSEST_NS) * 1.5;
  const middle = (start + stop) / 2;
  return kept({ start: middle - size / 2, stop: middle + size / 2 }, end);
}

/** The same size, moved if need be so that it shows a range (or as much as it can). */
export function showing(camera: Camera, start: number, stop: number, end: number): Camera {
  if (start >= camera.start && stop <= camera.stop) return camera;
  if (stop - start > span(camera)) return around(start, stop, end);
  const by = (start + stop) / 2 - (camera.start + camera.stop) / 2;
  return kept({ start: camera.start + by, stop: camera.stop + by }, end);
}

function kept(camera: Camera, end: number): Camera {
  const room = span(camera) * BEYOND;
  const by = Math.max(0, -room - camera.start) || Math.min(0, end + room - camera.stop);
  const moved = { start: camera.start + by, stop: camera.stop + by };
  return span(moved) > end + 2 * room ? { start: -room, stop: end + room } : moved;
}
