// The place of a range on the canvas, and the line of the critical path over many of them.
import type { Palette } from "../charts/canvas-colors";
import { rowTop, type Spot, type View } from "./scene";

/** Between two rows. */
export const ROW_GAP_PX = 2;

/** Where a range is drawn: its left and right edge, its top and its height. */
export interface Placed {
  left: number;
  right: number;
  y: number;
  bar: number;
}

/** Null where its row is not drawn. */
export function place(spot: Spot, view: View): Placed | null {
  const line = view.lines.find((one) => one.kind === "track" && one.id === spot.track);
  const y = rowTop(line, spot.row);
  if (!line || y === null) return null;
  return { ...across(spot, view), y, bar: line.row_px - ROW_GAP_PX };
}

/** Where a range is, or what it is folded into: its track, else the heading of its group. */
export function placeOrFold(spot: Spot, view: View): Placed | null {
  const drawn = place(spot, view);
  if (drawn) return drawn;
  const line =
    view.lines.find((one) => one.kind === "track" && one.id === spot.track) ??
    view.lines.find((one) => one.kind === "group" && one.tracks.includes(spot.track));
  return line ? { ...across(spot, view), y: line.y, bar: line.row_px - ROW_GAP_PX } : null;
}

function across(spot: Spot, view: View): { left: number; right: number } {
  const scale = view.width / (view.camera.stop - view.camera.start);
  const left = (spot.start - view.camera.start) * scale;
  return { left, right: left + Math.max(1, (spot.end - spot.start) * scale) };
}

/** A line below the pieces of a path, and from each to the next. */
export function follow(
  context: CanvasRenderingContext2D,
  path: readonly Spot[],
  view: View,
  palette: Palette,
): void {
  if (path.length === 0) return;
  context.strokeStyle = palette.of["communication"] ?? palette.accent;
  context.lineWidth = 3;
  context.beginPath();
  let last: number | null = null;
  for (const spot of path) {
    const at = place(spot, view);
    if (!at || at.right < 0 || at.left > view.width) {
      last = null;
      continue;
    }
    const y = at.y + at.bar;
    if (last !== null && Math.abs(last - at.left) < 2) context.lineTo(at.left, y);
    else context.moveTo(at.left, y);
    context.lineTo(at.right, y);
    last = at.right;
  }
  context.stroke();
}
