// Rows by columns as a picture: more than the median of its column, or less. Arrow keys move, Enter
// selects the row.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { downloadPicture } from "../../lib/dom";
import { percent } from "../../lib/format";
import { pictureWithLabels } from "../../lib/png";
import { t } from "../../i18n";
import { farthest, heat, lines, rowOrder } from "./heatmap-layout";
import { useColors } from "./canvas-colors";

interface HeatmapProps {
  values: readonly (number | null)[];
  rows: readonly string[];
  columns: readonly string[];
  /** Worst rows first. */
  worst: boolean;
  selected: string | null;
  onSelect: (row: string) => void;
  tooltip: (row: number, column: number) => ComponentChildren;
  /** In words, for those who cannot see it. */
  label: string;
  testid: string;
}

const MOST_PX = 320;
const HIGHEST_PX = 22;
const WIDEST_PX = 48;
const LEFT = 60;
const BOTTOM = 20;
const LETTER_PX = 7;

interface Cell {
  line: number;
  column: number;
}

export function Heatmap({
  values,
  rows,
  columns,
  worst,
  selected,
  onSelect,
  tooltip,
  label,
  testid,
}: HeatmapProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(800);
  const look = useColors();
  const [at, setAt] = useState<Cell | null>(null);
  const shades = useMemo(() => heat(values, columns.length), [values, columns]);
  const order = useMemo(() => rowOrder(shades, worst), [shades, worst]);
  const { height, each, count } = lines(rows.length, MOST_PX, HIGHEST_PX);
  const cell = Math.min(WIDEST_PX, (width - LEFT - 4) / Math.max(1, columns.length));
  const rowsOf = (line: number): number[] => order.slice(line * each, (line + 1) * each);

  useLayoutEffect(() => {
    if (!box.current) return undefined;
    const observer = new ResizeObserver(
      ([entry]) => entry && entry.contentRect.width > 0 && setWidth(entry.contentRect.width),
    );
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const context = canvas.current && prepared(canvas.current, width, count * height + BOTTOM);
    if (!context || !canvas.current) return;
    const style = getComputedStyle(canvas.current);
    const css = (name: string): string => style.getPropertyValue(name).trim();
    const gap = height > 6 ? 1 : 0;
    context.fillStyle = css("--sunken");
    context.fillRect(LEFT, 0, cell * columns.length, count * height);
    for (let line = 0; line < count; line += 1) {
      const own = rowsOf(line);
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
    context.fillStyle = css("--muted");
    context.font = `11px ${style.fontFamily}`;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const skip = Math.max(1, Math.ceil(14 / height));
    for (let line = 0; line < count; line += skip)
      context.fillText(
        rows[rowsOf(line)[0] ?? 0] ?? "",
        LEFT - 6,
        (line + 0.5) * height + (height < 14 ? 6 : 0),
      );
    context.textAlign = "center";
    const wide = Math.max(1, Math.ceil((Math.max(...columns.map((c) => c.length)) * LETTER_PX + 8) / cell));
    for (let column = 0; column < columns.length; column += wide)
      context.fillText(columns[column] ?? "", LEFT + (column + 0.5) * cell, count * height + 12);
    if (at) {
      context.strokeStyle = css("--ink");
      context.lineWidth = 1.5;
      context.strokeRect(LEFT + at.column * cell, at.line * height, Math.max(cell, 3), Math.max(height, 3));
    }
  }, [shades, order, width, selected, at, look]);

  /** The row whose shade is drawn there. */
  const rowAt = ({ line, column }: Cell): number => {
    const own = rowsOf(line);
    const shade = farthest(shades, own, column);
    return own.find((r) => shades.shade[r * shades.columns + column] === shade) ?? own[0] ?? 0;
  };
  const under = (event: MouseEvent): Cell | null => {
    const area = canvas.current?.getBoundingClientRect();
    if (!area) return null;
    const column = Math.floor((event.clientX - area.left - LEFT) / cell),
      line = Math.floor((event.clientY - area.top) / height);
    return column >= 0 && column < columns.length && line >= 0 && line < count ? { line, column } : null;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const now = at ?? { line: 0, column: 0 };
    const moves: Record<string, Cell> = {
      ArrowUp: { ...now, line: now.line - 1 },
      ArrowDown: { ...now, line: now.line + 1 },
      ArrowLeft: { ...now, column: now.column - 1 },
      ArrowRight: { ...now, column: now.column + 1 },
      Home: { ...now, line: 0 },
      End: { ...now, line: count - 1 },
    };
    const to = moves[event.key];
    if (to) setAt(at ? { line: clamp(to.line, count), column: clamp(to.column, columns.length) } : now);
    else if (event.key === "Enter" && at) onSelect(rows[rowAt(at)] ?? "");
    else return;
    event.preventDefault();
  };
  const shown = at && rowAt(at);
  const left = LEFT + (at?.column ?? 0) * cell + cell + 8;
  return (
    <div
      class="heatmap"
      ref={box}
      tabIndex={0}
      role="application"
      aria-label={t.widgets.heat.keys(label)}
      onKeyDown={onKeyDown}
      onBlur={() => setAt(null)}
      data-testid={testid}
      data-rows={rows.length}
      data-columns={columns.length}
      data-lines={count}
      data-first={rows[order[0] ?? 0] ?? ""}
      data-row={shown === null ? "" : rows[shown]}
    >
      <canvas
        ref={canvas}
        style={{ width: `${width}px`, height: `${count * height + BOTTOM}px` }}
        onPointerMove={(e) => setAt(under(e))}
        onPointerLeave={() => setAt(null)}
        onClick={(e) => {
          const found = under(e);
          if (found) onSelect(rows[rowAt(found)] ?? "");
        }}
      />
      <button
        type="button"
        class="quiet png"
        data-testid={`png-${testid}`}
        title={t.png.save}
        onClick={() =>
          canvas.current && downloadPicture(`${testid}.png`, pictureWithLabels(canvas.current, [], label))
        }
      >
        PNG
      </button>
      {at && shown !== null && (
        <div
          class="tooltip"
          role="status"
          style={{
            left: `${left + 272 > width ? Math.max(0, left - cell - 288) : left}px`,
            top: `${Math.min(at.line * height, count * height - 40)}px`,
          }}
        >
          {tooltip(shown, at.column)}
        </div>
      )}
      <p class="muted small scale">
        <i style={{ "--fill": "var(--shorter)" }} />
        <i style={{ "--fill": "var(--longer)" }} /> {t.widgets.heat.scale(percent(shades.scale), each)}
      </p>
    </div>
  );
}

const clamp = (n: number, count: number): number => Math.max(0, Math.min(count - 1, n));

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
  colour: string,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
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
