// An interval on some tracks of a timeline, and how the URL has it.
import type { Camera } from "./camera";
import { parseRange } from "../../lib/time-range";
import { trackNamed, trackText, type Line } from "./track-layout";

export interface Area extends Camera {
  /** Of all ranks that are shown, in order; null for all but the steps. */
  tracks: readonly number[] | null;
}

/** `start..stop` or `start..stop@3,7.5`: the fifth track of rank 7 is `7.5`. Null for none, and for
 * what cannot be read; tracks of a rank that is not shown are left out, and without one it is on all. */
export function parseArea(text: string | null, ranks: readonly number[]): Area | null {
  const [times = "", tracks] = (text ?? "").split("@", 2);
  const range = parseRange(times);
  const found = tracks
    ?.split(",")
    .map((word) => trackNamed(word, ranks))
    .filter((id) => id !== null);
  return range && { start: range.start, stop: range.end, tracks: found?.length ? found : null };
}

export function areaText({ start, stop, tracks }: Area, ranks: readonly number[]): string {
  const times = `${Math.round(start)}..${Math.max(Math.round(start) + 1, Math.round(stop))}`;
  return tracks === null ? times : `${times}@${tracks.map((id) => trackText(id, ranks)).join(",")}`;
}

/** The tracks that lie between two heights. */
export function tracksBetween(lines: readonly Line[], top: number, bottom: number): number[] {
  return lines
    .filter((line) => line.kind === "track" && line.y < bottom && line.y + line.height > top)
    .map((line) => line.id)
    .sort((a, b) => a - b);
}

/** The tracks with one more, or without it. */
export function withTrackToggled(tracks: readonly number[], id: number): number[] {
  return tracks.includes(id) ? tracks.filter((one) => one !== id) : [...tracks, id].sort((a, b) => a - b);
}
