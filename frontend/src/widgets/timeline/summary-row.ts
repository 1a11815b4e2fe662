// A device's summary on the canvas: its busy time, stacked by family of kernels or a row for each.
import type { Palette } from "../charts/canvas-colors";
import type { DeviceShares, View } from "./scene";
import type { Line } from "./track-layout";

/** What has no color of its own takes the palette's in this order, so that a family has one color in all
 * recordings; families that seldom are in one recording share one. */
const ORDER = [
  ["gemm"],
  ["attention", "recurrent"],
  ["elementwise", "optimizer"],
  ["normalization", "compiled", "pooling"],
  ["reduction", "convolution", "indexing"],
];
/** The places in `Palette.names` of colors that are no class's of the device. */
const PLACES = [0, 5, 6, 4, 2];

/** The color of a family of kernels. */
export function familyColor(kind: string, palette: Pick<Palette, "of" | "names" | "none">): string {
  if (kind === "communication") return palette.of["communication"] ?? palette.none;
  if (kind === "copy") return palette.of["memcpy"] ?? palette.none;
  const at = ORDER.findIndex((kinds) => kinds.includes(kind));
  return palette.names[PLACES[at] ?? -1] ?? palette.none;
}

const FRAME_PX = 3;

/** Draws the summary on its line; the share of inferred devices is striped, as their ranges are. */
export function summary(
  context: CanvasRenderingContext2D,
  device: DeviceShares,
  line: Line,
  view: View,
  palette: Palette,
  stripes: (context: CanvasRenderingContext2D, fill: string) => CanvasPattern | null,
): void {
  const { camera, width } = view;
  const parts = device.families[0]?.per_mille.length ?? 0;
  if (parts === 0) return;
  const scale = width / (camera.stop - camera.start);
  const x = (part: number): number =>
    (device.start + (part / parts) * (device.stop - device.start) - camera.start) * scale;
  const perPart = x(1) - x(0);
  const first = Math.max(0, Math.floor(-x(0) / perPart));
  const last = Math.min(parts, Math.ceil((width - x(0)) / perPart));
  const tall = line.row_px - (line.folded ? 2 * FRAME_PX : FRAME_PX);
  const below = new Float64Array(parts);
  device.families.forEach((family, row) => {
    const base = line.folded ? line.y + line.row_px - FRAME_PX : line.y + (row + 1) * line.row_px - 1;
    const fill = familyColor(family.kind, palette);
    context.beginPath();
    for (let part = first; part < last; part += 1) {
      const height = ((family.per_mille[part] ?? 0) / 1000) * tall;
      const under = line.folded ? (below[part] ?? 0) : 0;
      if (height > 0) context.rect(x(part), base - under - height, perPart + 0.25, height);
      below[part] = under + height;
    }
    context.globalAlpha = device.inferred ? 0.35 : 1;
    context.fillStyle = fill;
    context.fill();
    context.globalAlpha = 1;
    const pattern = device.inferred ? stripes(context, fill) : null;
    if (pattern) {
      context.fillStyle = pattern;
      context.fill();
    }
  });
}
