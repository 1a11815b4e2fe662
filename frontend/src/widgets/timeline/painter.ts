// Draws a timeline on a canvas. Everything that is drawn is a rectangle, a curve or an arrow of the
// scene: its cost is that of the screen.
import type { Area } from "./selection-area";
import type { Palette } from "../charts/canvas-colors";
import type { Line } from "./track-layout";
import { summary } from "./summary-row";
import { follow, place, placeOrFold, ROW_GAP_PX } from "./critical-path-line";
import {
  linesByTrack,
  rowTop,
  type Arrow,
  type ColorBy,
  type Counter,
  type Curves,
  type Scene,
  type Spot,
  type View,
} from "./scene";

const LETTER_PX = 6.1;
const LEAST_TEXT_PX = 26;
const LEAST_TEXT_TALL_PX = 11;

export interface Picked {
  item: Spot | null;
  hover: number | null;
  area: Area | null;
  marks: readonly number[];
  arrows: readonly Arrow[];
  /** Names that a search looks for; what has another one is pale. */
  found: ((name: string) => boolean) | null;
  by: ColorBy;
  /** The critical path: pieces in order of time. */
  path: readonly Spot[];
}

export function paint(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  picked: Picked,
  palette: Palette,
): number {
  const { width, height, top } = view;
  context.clearRect(0, 0, width, height);
  context.save();
  context.translate(0, -top);
  background(context, view, palette);
  const drawn = rectangles(context, scene, view, picked, palette);
  for (const line of view.lines) {
    const one = line.kind === "counter" ? scene.counters[line.id] : undefined;
    const device = line.kind === "summary" ? scene.devices[line.id] : undefined;
    if (device && visible(line, view)) summary(context, device, line, view, palette, stripes);
    if (one && visible(line, view)) counter(context, one, scene.curves, line, view, palette);
  }
  follow(context, picked.path, view, palette);
  for (const arrow of picked.arrows) draw(context, arrow, view, palette);
  if (picked.item) outline(context, picked.item, view, palette.ink, 2);
  context.restore();
  over(context, view, picked, palette);
  return drawn;
}

const visible = (line: Line, { top, height }: View): boolean =>
  line.y + line.height >= top && line.y <= top + height;

/** Which names a search looks for, in either of their forms. */
const matching = ({ names, full_names }: Scene, found: (name: string) => boolean): boolean[] =>
  names.map((name, i) => found(name) || found(full_names[i] ?? ""));

function background(context: CanvasRenderingContext2D, view: View, palette: Palette): void {
  for (const line of view.lines) {
    if (!visible(line, view)) continue;
    if (line.kind === "group" || line.kind === "rank") {
      context.fillStyle = palette.sunken;
      context.fillRect(0, line.y, view.width, line.height);
    } else {
      context.fillStyle = palette.rule;
      context.fillRect(0, line.y + line.height - 1, view.width, 1);
    }
  }
}

function rectangles(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  picked: Picked,
  palette: Palette,
): number {
  const all = scene.rectangles;
  const lines = linesByTrack(view.lines);
  const scale = view.width / (view.camera.stop - view.camera.start);
  const matches = picked.found ? matching(scene, picked.found) : null;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  let drawn = 0;
  for (let i = 0; i < all.start_ns.length; i += 1) {
    const line = lines.get(all.track[i] ?? -1);
    const y = rowTop(line, all.row[i] ?? 0);
    if (!line || y === null || y + line.row_px < view.top || y > view.top + view.height) continue;
    const tall = line.row_px - ROW_GAP_PX;
    const length = all.length_ns[i] ?? 0;
    const x = ((all.start_ns[i] ?? 0) - view.camera.start) * scale;
    const right = x + Math.max(length * scale, 1);
    if (right < 0 || x > view.width) continue;
    const left = Math.max(x, -2);
    const wide = Math.min(right, view.width + 2) - left;
    const name = all.name[i] ?? 0;
    const fill = fillOf(scene, i, picked.by, palette);
    const many = (all.count[i] ?? 1) > 1;
    const pale = matches && !matches[name] ? 0.2 : 1;
    // A rectangle for many is as dense as they are.
    context.globalAlpha =
      pale * (many ? 0.35 + 0.65 * Math.min(1, (all.busy_ns[i] ?? 0) / Math.max(1, length)) : 1);
    const look = scene.looks[all.look[i] ?? 0] ?? "measured";
    if (look !== "measured") uncertain(context, { left, y, wide, tall }, fill, look === "bounded", many);
    else {
      context.fillStyle = fill;
      context.fillRect(left, y, Math.max(1, wide - (wide > 3 ? 0.5 : 0)), tall);
    }
    if (look !== "measured" && !many) whisker(context, x, y + tall, (all.bound_ns[i] ?? 0) * scale, palette);
    if (wide > LEAST_TEXT_PX && tall >= LEAST_TEXT_TALL_PX) {
      const text = labelOf(scene, i);
      context.fillStyle = look === "measured" ? palette.onto(fill) : palette.ink;
      context.fillText(fitted(text, wide - 6), left + 3, y + tall / 2 + 0.5);
    }
    drawn += 1;
  }
  context.globalAlpha = 1;
  return drawn;
}

/** Inferred: stripes, hollow where only limits are known, never a plain color. A single one has an
 * outline; the stripes of many that stand side by side run on from one to the next. */
function uncertain(
  context: CanvasRenderingContext2D,
  { left: x, y, wide: width, tall }: { left: number; y: number; wide: number; tall: number },
  fill: string,
  hollow: boolean,
  many: boolean,
): void {
  const alpha = context.globalAlpha;
  context.fillStyle = fill;
  context.globalAlpha = alpha * (hollow ? 0.1 : 0.28);
  context.fillRect(x, y, Math.max(1, width), tall);
  context.globalAlpha = alpha * (many ? 0.85 : 0.45);
  const pattern = hollow ? null : stripes(context, fill);
  if (pattern) {
    context.fillStyle = pattern;
    context.fillRect(x, y, Math.max(1, width), tall);
  }
  if (hollow || (width > 3 && !many)) {
    context.globalAlpha = alpha;
    context.strokeStyle = fill;
    context.lineWidth = 1;
    context.setLineDash(hollow ? [3, 2] : []);
    context.strokeRect(x + 0.5, y + 0.5, Math.max(0.5, width - 1), tall - 1);
    context.setLineDash([]);
  }
  context.globalAlpha = alpha;
}

const STRIPE_PX = 6;
const tiles = new Map<string, CanvasPattern | null>();

/** Diagonal stripes of a color, fixed to the canvas. */
function stripes(context: CanvasRenderingContext2D, fill: string): CanvasPattern | null {
  const known = tiles.get(fill);
  if (known !== undefined) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = STRIPE_PX;
  const ink = tile.getContext("2d");
  if (ink) {
    ink.strokeStyle = fill;
    ink.lineWidth = 2;
    for (const at of [-STRIPE_PX, 0, STRIPE_PX]) {
      ink.beginPath();
      ink.moveTo(at - 1, STRIPE_PX + 1);
      ink.lineTo(at + STRIPE_PX + 1, -1);
      ink.stroke();
    }
  }
  const pattern = context.createPattern(tile, "repeat");
  tiles.set(fill, pattern);
  return pattern;
}

/** How far off the start may be, where that can be seen. */
function whisker(
  context: CanvasRenderingContext2D,
  x: number,
  bottom: number,
  px: number,
  palette: Palette,
): void {
  if (px < 4) return;
  context.fillStyle = palette.ink;
  context.fillRect(x - px, bottom - 2, 2 * px, 1);
  context.fillRect(x - px, bottom - 4, 1, 4);
  context.fillRect(x + px, bottom - 4, 1, 4);
}

/** Its name; of several in one rectangle how many, of an activity the operator that launched it. */
export function labelOf({ rectangles: r, names, launchers }: Scene, i: number): string {
  const name = names[r.name[i] ?? 0] ?? "";
  const [count, launcher] = [r.count[i] ?? 1, launchers[r.launcher[i] ?? -1]];
  if (count > 1) return `${name} + ${count - 1}`;
  return launcher === undefined ? name : `${name} ← ${launcher}`;
}

function fitted(text: string, px: number): string {
  const letters = Math.floor(px / LETTER_PX);
  return text.length <= letters ? text : letters < 3 ? "" : `${text.slice(0, letters - 1)}…`;
}

/** What is inferred is striped as its ranges are, between lines of what it is at least and at most. */
function counter(
  context: CanvasRenderingContext2D,
  one: Counter,
  curves: Curves,
  line: Line,
  view: View,
  palette: Palette,
): void {
  const [first, last] = [one.first, one.first + one.points];
  const at = curves.at_ns.subarray(first, last);
  const values = curves.value.subarray(first, last);
  const bounds = curves.bound.subarray(first, last);
  const most = greatest(one, curves) || 1;
  const scale = view.width / (view.camera.stop - view.camera.start);
  const [base, tall] = [line.y + line.height - 2, line.height - 6];
  const trace = (value: (i: number) => number): void => {
    context.beginPath();
    // A recorded counter has no value before its first one.
    context.moveTo(Math.max(0, ((at[0] ?? 0) - view.camera.start) * scale), base);
    for (let i = 0; i < at.length; i += 1) {
      const x = Math.max(0, ((at[i] ?? 0) - view.camera.start) * scale);
      const end = Math.min(
        view.width,
        i + 1 < at.length ? ((at[i + 1] ?? 0) - view.camera.start) * scale : view.width,
      );
      if (end < 0 || x > view.width) continue;
      const y = base - (tall * Math.min(most, Math.max(0, value(i)))) / most;
      context.lineTo(x, y);
      context.lineTo(end, y);
    }
    context.lineTo(view.width, base);
  };
  trace((i) => values[i] ?? 0);
  context.globalAlpha = one.inferred ? 0.7 : 0.3;
  context.fillStyle = (one.inferred ? stripes(context, palette.accent) : null) ?? palette.accent;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = palette.accent;
  context.lineWidth = 1;
  context.stroke();
  if (one.inferred) {
    context.strokeStyle = palette.muted;
    context.setLineDash([2, 2]);
    for (const side of [-1, 1]) {
      trace((i) => (values[i] ?? 0) + side * Math.max(0, bounds[i] ?? 0));
      context.stroke();
    }
    context.setLineDash([]);
  }
}

/** The top of a counter's scale: everything, or the greatest of what was asked for. */
export function greatest({ unit, first, points }: Counter, { value }: Curves): number {
  return unit === "share" ? 1 : value.subarray(first, first + points).reduce((a, b) => Math.max(a, b), 0);
}

function draw(context: CanvasRenderingContext2D, arrow: Arrow, view: View, palette: Palette): void {
  const [from, to] = [placeOrFold(arrow.from, view), placeOrFold(arrow.to, view)];
  if (!from || !to) return;
  const [x1, y1, x2, y2] = [
    (from.left + Math.min(from.right, from.left + 8)) / 2,
    from.y + from.bar / 2,
    to.left,
    to.y + to.bar / 2,
  ];
  const bend = Math.max(24, Math.abs(x2 - x1) / 3);
  context.strokeStyle = arrow.kind === "launch" ? palette.ink : palette.accent;
  context.fillStyle = context.strokeStyle;
  context.lineWidth = 1.25;
  context.setLineDash(arrow.kind === "launch" ? [] : [5, 3]);
  context.beginPath();
  context.moveTo(x1, y1);
  context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 4, y2);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(x2, y2);
  context.lineTo(x2 - 6, y2 - 3.5);
  context.lineTo(x2 - 6, y2 + 3.5);
  context.fill();
}

function outline(
  context: CanvasRenderingContext2D,
  spot: Spot,
  view: View,
  style: string,
  thick: number,
): void {
  const at = place(spot, view);
  if (!at) return;
  const left = Math.max(at.left, -3);
  context.strokeStyle = style;
  context.lineWidth = thick;
  context.strokeRect(left - 1, at.y - 1, Math.min(at.right, view.width + 3) - left + 2, at.bar + 2);
}

/** What lies over all lines: the selected interval and the marks. */
function over(context: CanvasRenderingContext2D, view: View, picked: Picked, palette: Palette): void {
  const scale = view.width / (view.camera.stop - view.camera.start);
  const x = (at: number): number => (at - view.camera.start) * scale;
  if (picked.area) {
    const { tracks, ...area } = picked.area;
    const [left, wide] = [x(area.start), x(area.stop) - x(area.start)];
    context.fillStyle = palette.accent;
    context.globalAlpha = 0.14;
    if (tracks === null) context.fillRect(left, 0, wide, view.height);
    else
      for (const line of view.lines)
        if (line.kind === "track" && tracks.includes(line.id) && visible(line, view))
          context.fillRect(left, line.y - view.top, wide, line.height);
    context.globalAlpha = 1;
    for (const at of [area.start, area.stop]) context.fillRect(Math.round(x(at)), 0, 1, view.height);
  }
  context.fillStyle = palette.of["communication"] ?? palette.ink;
  for (const at of picked.marks) context.fillRect(Math.round(x(at)), 0, 1, view.height);
}

/** What a rectangle is filled with. What belongs to no module is grey, as no module is. */
export function fillOf(
  { rectangles, names, kinds, modules }: Scene,
  i: number,
  by: ColorBy,
  palette: Pick<Palette, "of" | "names" | "none" | "muted">,
): string {
  if (by === "kind") return palette.of[kinds[rectangles.kind[i] ?? 0] ?? ""] ?? palette.muted;
  if (by === "name") return nameColor(names[rectangles.name[i] ?? 0] ?? "", palette.names);
  const module = modules[rectangles.module[i] ?? -1];
  return module === undefined ? palette.none : nameColor(module, palette.names);
}

/** The same name has the same color everywhere. */
export function nameColor(name: string, colors: readonly string[]): string {
  let sum = 0;
  for (let i = 0; i < name.length; i += 1) sum = (sum * 31 + name.charCodeAt(i)) | 0;
  return colors[Math.abs(sum) % colors.length] ?? "";
}
