// Rows by columns as a picture: more than the median of its column, or less. Arrow keys move, Enter
// selects the row.
import type { ComponentChildren, RefObject } from "preact";
import { useContext, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { downloadPicture } from "../../lib/dom";
import { percent } from "../../lib/format";
import { pictureWithLabels } from "../../lib/png";
import { useWidth } from "../../lib/use-width";
import { t } from "../../i18n";
import { WindowContext, windowLine } from "../window-context";
import { farthest, heat, lines, rowOrder } from "./heatmap-layout";
import { useColors } from "./canvas-colors";
import { BOTTOM, LEFT, paint, rowsOfLine, type Cell, type Grid } from "./heatmap-painter";
import "./heatmap.css";

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

export function Heatmap(props: HeatmapProps) {
  const { values, rows, columns, worst, selected, label, testid } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box, 800);
  const look = useColors();
  const shades = useMemo(() => heat(values, columns.length), [values, columns]);
  const order = useMemo(() => rowOrder(shades, worst), [shades, worst]);
  const { height, each, count } = lines(rows.length, MOST_PX, HIGHEST_PX);
  const cell = Math.min(WIDEST_PX, (width - LEFT - 4) / Math.max(1, columns.length));

  const grid = useMemo<Grid>(
    () => ({ shades, order, rows, columns, height, each, count, cell, selected }),
    [shades, order, rows, columns, height, each, count, cell, selected],
  );
  const { at, row: shown, onKeyDown, onBlur, pointer } = useCell(canvas, grid, props.onSelect);
  useLayoutEffect(() => {
    if (canvas.current) paint(canvas.current, grid, width, at);
  }, [grid, width, at, look]);

  return (
    <div
      class="heatmap"
      ref={box}
      tabIndex={0}
      role="application"
      aria-label={t.widgets.heat.keys(label)}
      onKeyDown={onKeyDown}
      onBlur={onBlur}
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
        {...pointer}
      />
      <SavePicture canvas={canvas} name={testid} label={label} />
      {at && shown !== null && (
        <HeatTooltip at={at} grid={grid} width={width}>
          {props.tooltip(shown, at.column)}
        </HeatTooltip>
      )}
      <p class="muted small scale">
        <i style={{ "--fill": "var(--shorter)" }} />
        <i style={{ "--fill": "var(--longer)" }} /> {t.widgets.heat.scale(percent(shades.scale), each)}
      </p>
    </div>
  );
}

/** The cell under the pointer, or that the arrow keys moved to; a click and Enter select its row. */
function useCell(canvas: RefObject<HTMLCanvasElement | null>, grid: Grid, onSelect: (row: string) => void) {
  const { rows, columns, cell, height, count } = grid;
  const [at, setAt] = useState<Cell | null>(null);
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
    else if (event.key === "Enter" && at) onSelect(rows[rowOf(grid, at)] ?? "");
    else return;
    event.preventDefault();
  };
  const pointer = {
    onPointerMove: (event: PointerEvent): void => setAt(under(event)),
    onPointerLeave: (): void => setAt(null),
    onClick: (event: MouseEvent): void => {
      const found = under(event);
      if (found) onSelect(rows[rowOf(grid, found)] ?? "");
    },
  };
  return { at, row: at && rowOf(grid, at), onKeyDown, onBlur: (): void => setAt(null), pointer };
}

/** The row whose shade is drawn there. */
function rowOf({ shades, order, each }: Grid, { line, column }: Cell): number {
  const own = rowsOfLine({ order, each }, line);
  const shade = farthest(shades, own, column);
  return own.find((r) => shades.shade[r * shades.columns + column] === shade) ?? own[0] ?? 0;
}

interface SavePictureProps {
  canvas: RefObject<HTMLCanvasElement | null>;
  name: string;
  label: string;
}

function SavePicture({ canvas, name, label }: SavePictureProps) {
  const title = [label, windowLine(useContext(WindowContext))].filter(Boolean).join(" · ");
  return (
    <button
      type="button"
      class="quiet png"
      data-testid={`png-${name}`}
      title={t.png.save}
      onClick={() =>
        canvas.current && downloadPicture(`${name}.png`, pictureWithLabels(canvas.current, { title }))
      }
    >
      PNG
    </button>
  );
}

interface HeatTooltipProps {
  at: Cell;
  grid: Grid;
  width: number;
  children: ComponentChildren;
}

/** Right of the cell, or left of it where there is no room. */
function HeatTooltip({ at, grid: { cell, height, count }, width, children }: HeatTooltipProps) {
  const left = LEFT + at.column * cell + cell + 8;
  return (
    <div
      class="tooltip"
      role="status"
      style={{
        left: `${left + 272 > width ? Math.max(0, left - cell - 288) : left}px`,
        top: `${Math.min(at.line * height, count * height - 40)}px`,
      }}
    >
      {children}
    </div>
  );
}

const clamp = (n: number, count: number): number => Math.max(0, Math.min(count - 1, n));
