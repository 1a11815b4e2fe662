// Draws a heatmap on its canvas: cells, the labels around them, and the cell under the pointer.
import { farthest, type Heat } from "./heatmap-layout";

/** Room for the labels of rows and columns. */
export const LEFT = 60;
export const BOTTOM = 20;
const LETTER_PX = 7;

export interface Cell {
  line: number;
  column: number;
}

/** A grid as it lies on the canvas: each line shows `each` rows. */
export interface Grid {
  shades: Heat;
  order: readonly number[];
  rows: readonly string[];
  columns: readonly string[];
  height: number;
  each: number;
  count: number;
  /** How wide a cell is. */
  cell: number;
  selected: string | null;
}

type Css = (name: string) => string;

export function rowsOfLine({ order, each }: Pick<Grid, "order" | "each">, line: number): number[] {
  return order.slice(line * each, (line + 1) * each);
}

export function paint(canvas: HTMLCanvasElement, grid: Grid, width: number, at: Cell | null): void {
  const context = prepared(canvas, width, grid.count * grid.height + BOTTOM);
  if (!context) return;
  const style = getComputedStyle(canvas);
  const css: Css = (name) => style.getPropertyValue(name).trim();
  paintCells(context, grid, css);
  context.fillStyle = css("--muted");
  context.font = `11px ${style.fontFamily}`;
  context.textBaseline = "middle";
  paintLabels(context, grid);
  if (at) outline(context, grid, at, css("--ink"));
}

function paintCells(context: CanvasRenderingContext2D, grid: Grid, css: Css): void {
  const { shades, rows, columns, height, count, cell, selected } = grid;
  const gap = height > 6 ? 1 : 0;
  context.fillStyle = css("--sunken");
  context.fillRect(LEFT, 0, cell * columns.length, count * height);
  for (let line = 0; line < count; line += 1) {
    const own = rowsOfLine(grid, line);
    for (let column = 0; column < columns.length; column += 1) {
      const shade = farthest(shades, own, column);
      if (Number.isNaN(shade)) {
        hatch(context, css("--edge"), LEFT + column * cell, line * height, cell, height);
        continue;
      }
      context.globalAlpha = Math.abs(shade);
      context.fillStyle = css(shade > 0 ? "--longer" : "--shorter");
      context.fillRect(
        LEFT + column * cell,
        line * height,
        Math.max(cell - (cell > 4 ? 1 : 0), 0.5),
        height - gap,
      );
      context.globalAlpha = 1;
    }
    if (selected !== null && own.some((r) => rows[r] === selected)) {
      context.strokeStyle = css("--accent");
      context.lineWidth = 1.5;
      context.strokeRect(LEFT - 1, line * height - 0.5, cell * columns.length + 1, Math.max(height, 3));
    }
  }
}

function paintLabels(context: CanvasRenderingContext2D, grid: Grid): void {
  const { rows, columns, height, count, cell } = grid;
  context.textAlign = "right";
  const skip = Math.max(1, Math.ceil(14 / height));
  for (let line = 0; line < count; line += skip)
    context.fillText(
      rows[rowsOfLine(grid, line)[0] ?? 0] ?? "",
      LEFT - 6,
      (line + 0.5) * height + (height < 14 ? 6 : 0),
    );
  context.textAlign = "center";
  const wide = Math.max(1, Math.ceil((Math.max(...columns.map((c) => c.length)) * LETTER_PX + 8) / cell));
  for (let column = 0; column < columns.length; column += wide)
    context.fillText(columns[column] ?? "", LEFT + (column + 0.5) * cell, count * height + 12);
}

function outline(context: CanvasRenderingContext2D, { cell, height }: Grid, at: Cell, style: string): void {
  context.strokeStyle = style;
  context.lineWidth = 1.5;
  context.strokeRect(LEFT + at.column * cell, at.line * height, Math.max(cell, 3), Math.max(height, 3));
}

function prepared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context?.scale(scale, scale);
  return context;
}

/** Where nothing is known. */
function hatch(
  context: CanvasRenderingContext2D,
  color: string,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = color;
  context.globalAlpha = 0.5;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = -height; at < width; at += 6) {
    context.moveTo(x + at, y + height);
    context.lineTo(x + at + height, y);
  }
  context.stroke();
  context.restore();
}
