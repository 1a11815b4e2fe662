// Draws a flame graph's boxes in the theme's colors.
import { BOX_PX, type FlameBox, type Placed } from "./layout";

export interface Look {
  hover: number | null;
  focus: number | null;
  /** In lower case; empty for none. */
  search: string;
}

/** How much of a category's color a box has: text stays readable on it, light and dark. */
const STRONG = 0.5;
const FAINT = 0.24;
/** Narrower boxes have no text. */
const LEAST_TEXT_PX = 28;
/** A box has its note if this much of its name is left. */
const LEAST_NAME_PX = 60;
const PAD_PX = 4;

export function draw(
  canvas: HTMLCanvasElement,
  placed: Placed,
  boxes: readonly FlameBox[],
  width: number,
  height: number,
  look: Look,
): void {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(canvas);
  const css = (name: string): string => style.getPropertyValue(name).trim();
  const ink = css("--ink");
  context.scale(scale, scale);
  context.fillStyle = css("--ground");
  context.fillRect(0, 0, width, height);
  context.font = `12px ${style.fontFamily}`;
  context.textBaseline = "middle";
  const hatches = new Map<string, CanvasPattern | null>();
  const found = (box: FlameBox): boolean => look.search !== "" && box.searched.includes(look.search);
  boxes.forEach((box, i) => {
    const x = (placed.left[i] ?? 0) * width;
    const w = (placed.width[i] ?? 0) * width;
    const y = (placed.level[i] ?? 0) * BOX_PX;
    // A hairline between boxes, as long as that leaves something of them.
    const inner = Math.max(0.4, w - (w > 2 ? 1 : 0));
    context.globalAlpha =
      (box.shade ?? (box.strong ? STRONG : FAINT)) * (look.search !== "" && !found(box) ? 0.4 : 1);
    context.fillStyle = css(box.color);
    context.fillRect(x, y, inner, BOX_PX - 1);
    if (box.hatched && w > 3) {
      if (!hatches.has(box.color)) hatches.set(box.color, hatch(context, css("--ground"), scale));
      const pattern = hatches.get(box.color);
      if (pattern) {
        context.globalAlpha = 0.55;
        context.fillStyle = pattern;
        context.fillRect(x, y, inner, BOX_PX - 1);
      }
    }
    context.globalAlpha = 1;
    if (found(box)) outline(context, css("--bad"), x, y, inner, 1.5);
    if (i === look.hover) outline(context, ink, x, y, inner, 1);
    if (i === look.focus) outline(context, css("--accent"), x, y, inner, 2);
    if (w < LEAST_TEXT_PX) return;
    context.fillStyle = ink;
    context.globalAlpha = look.search !== "" && !found(box) ? 0.6 : 1;
    const taken = note(context, box, x, y, w);
    context.fillText(cut(context, box.name, w - 2 * PAD_PX - taken), x + PAD_PX, y + BOX_PX / 2);
    context.globalAlpha = 1;
  });
}

/** Writes a box's note, if its name keeps enough room; returns the width that is taken. */
function note(context: CanvasRenderingContext2D, box: FlameBox, x: number, y: number, w: number): number {
  if (!box.note) return 0;
  const width = context.measureText(box.note).width;
  const name = Math.min(context.measureText(box.name).width, LEAST_NAME_PX);
  if (w < name + width + 4 * PAD_PX) return 0;
  context.fillText(box.note, x + w - PAD_PX - width, y + BOX_PX / 2);
  return width + 2 * PAD_PX;
}

function outline(
  context: CanvasRenderingContext2D,
  color: string,
  x: number,
  y: number,
  w: number,
  line: number,
): void {
  context.strokeStyle = color;
  context.lineWidth = line;
  context.strokeRect(x + line / 2, y + line / 2, Math.max(1, w - line), BOX_PX - 1 - line);
}

/** Diagonal lines of the ground's color: what shows between them is the box. */
function hatch(context: CanvasRenderingContext2D, color: string, scale: number): CanvasPattern | null {
  const size = Math.round(6 * scale);
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const lines = tile.getContext("2d");
  if (!lines) return null;
  lines.strokeStyle = color;
  lines.lineWidth = size / 3;
  lines.beginPath();
  for (const from of [-size, 0, size]) {
    lines.moveTo(from - size / 2, size * 1.5);
    lines.lineTo(from + size * 1.5, -size / 2);
  }
  lines.stroke();
  const pattern = context.createPattern(tile, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(1 / scale));
  return pattern;
}

/** As much of a text as fits, with an ellipsis. */
function cut(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? `${text.slice(0, low)}…` : "";
}
