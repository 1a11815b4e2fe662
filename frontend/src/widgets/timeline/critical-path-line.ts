// The place of a range on the canvas, and the line of the critical path over many of them.
import { ROW_PX } from "./track-layout";
import type { Palette } from "../charts/canvas-colors";
import { rowTop, type Spot, type View } from "./scene";

const BAR_PX = ROW_PX - 2;

/** Its left and right edge and its top, or null where its row is not drawn. */
export function place(spot: Spot, view: View): { left: number; right: number; y: number } | null {
  const y = rowTop(
    view.lines.find((line) => line.kind === "track" && line.id === spot.track),
    spot.row,
  );
  if (y === null) return null;
  const scale = view.width / (view.camera.stop - view.camera.start);
  const left = (spot.start - view.camera.start) * scale;
  return { left, right: left + Math.max(1, (spot.end - spot.start) * scale), y };
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
    const y = at.y + BAR_PX;
    if (last !== null && Math.abs(last - at.left) < 2) context.lineTo(at.left, y);
    else context.moveTo(at.left, y);
    context.lineTo(at.right, y);
    last = at.right;
  }
  context.stroke();
}
