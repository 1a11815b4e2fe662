// Rows by columns as a picture: more than the median of its column, or less. Arrow keys move, Enter
// selects the row.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { downloadPicture } from "../../lib/dom";
import { percent } from "../../lib/format";
import { pictureWithLabels } from "../../lib/png";
import { useWidth } from "../../lib/use-width";
import { t } from "../../i18n";
import { farthest, heat, lines, rowOrder } from "./heatmap-layout";
import { useColors } from "./canvas-colors";
import { BOTTOM, LEFT, paint, rowsOfLine, type Cell, type Grid } from "./heatmap-painter";

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
  const width = useWidth(box, 800);
  const look = useColors();
  const [at, setAt] = useState<Cell | null>(null);
  const shades = useMemo(() => heat(values, columns.length), [values, columns]);
  const order = useMemo(() => rowOrder(shades, worst), [shades, worst]);
  const { height, each, count } = lines(rows.length, MOST_PX, HIGHEST_PX);
  const cell = Math.min(WIDEST_PX, (width - LEFT - 4) / Math.max(1, columns.length));

  useLayoutEffect(() => {
    const grid: Grid = { shades, order, rows, columns, height, each, count, cell, selected };
    if (canvas.current) paint(canvas.current, grid, width, at);
  }, [shades, order, rows, columns, height, each, count, cell, width, selected, at, look]);

  /** The row whose shade is drawn there. */
  const rowAt = ({ line, column }: Cell): number => {
    const own = rowsOfLine({ order, each }, line);
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
