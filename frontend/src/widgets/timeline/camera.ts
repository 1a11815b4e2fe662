// The part of the recording that a timeline shows, in ns, and how it moves.

export interface Camera {
  start: number;
  stop: number;
}

/** No closer than this: a screen of a few ns tells nothing. */
const CLOSEST_NS = 20;
/** How far beyond the recording one may look, as a share of what is shown. */
const BEYOND = 0.5;

export const middle = (camera: Camera): number => (camera.start + camera.stop) / 2;
export const span = (camera: Camera): number => camera.stop - camera.start;

/** Bigger (`factor` < 1) or smaller around a time that stays where it is; `all` is what there is. */
export function zoomed(camera: Camera, factor: number, at: number, all: Camera): Camera {
  const size = Math.min(Math.max(span(camera) * factor, CLOSEST_NS), Math.max(span(all) * 1.1, CLOSEST_NS));
  const share = (at - camera.start) / span(camera);
  return clamped({ start: at - share * size, stop: at + (1 - share) * size }, all);
}

/** Moved by a share of what is shown. */
export function panned(camera: Camera, share: number, all: Camera): Camera {
  const by = share * span(camera);
  return clamped({ start: camera.start + by, stop: camera.stop + by }, all);
}

/** What of it lies in the recording; nothing (`start` = `stop`) if it lies outside. */
export function within({ start, stop }: Camera, all: Camera): Camera {
  const first = Math.min(Math.max(start, all.start), all.stop);
  return { start: first, stop: Math.max(first, Math.min(stop, all.stop)) };
}

/** The same size, with a time in the middle. */
export function centered(camera: Camera, at: number, all: Camera): Camera {
  const half = span(camera) / 2;
  return clamped({ start: at - half, stop: at + half }, all);
}

/** Everything, with a little room. */
export function whole(all: Camera): Camera {
  const stop = Math.max(all.start + 1, all.stop);
  const room = (stop - all.start) * 0.01;
  return { start: all.start - room, stop: stop + room };
}

/** A range with room around it; nothing shorter than what can be told apart. */
export function around(start: number, stop: number, all: Camera): Camera {
  const size = Math.max(stop - start, CLOSEST_NS) * 1.5;
  const middle = (start + stop) / 2;
  return clamped({ start: middle - size / 2, stop: middle + size / 2 }, all);
}

/** The same size, moved if need be so that it shows a range (or as much as it can). */
export function showing(camera: Camera, start: number, stop: number, all: Camera): Camera {
  if (start >= camera.start && stop <= camera.stop) return camera;
  if (stop - start > span(camera)) return around(start, stop, all);
  const by = (start + stop) / 2 - (camera.start + camera.stop) / 2;
  return clamped({ start: camera.start + by, stop: camera.stop + by }, all);
}

function clamped(camera: Camera, all: Camera): Camera {
  const room = span(camera) * BEYOND;
  const by = Math.max(0, all.start - room - camera.start) || Math.min(0, all.stop + room - camera.stop);
  const moved = { start: camera.start + by, stop: camera.stop + by };
  return span(moved) > span(all) + 2 * room ? { start: all.start - room, stop: all.stop + room } : moved;
}
