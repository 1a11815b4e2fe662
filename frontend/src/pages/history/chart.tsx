// A figure of all recordings in order of time: a point each, and the levels with their noise.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { History, HistoryRow } from "../../api/types";
import { useWidth } from "../../lib/use-width";
import { relativeChange } from "../../lib/format";
import { t } from "../../i18n";
import { PngButton } from "../../widgets/charts/png-button";
import { keyOf } from "./columns";
import { HEIGHT, LEFT, RIGHT, TOP, RADIUS, scaleOf, type Scale } from "./layout";
import { format, LABELS } from "./figures";
import "./chart.css";

const texts = t.history;

interface TrendChartProps {
  result: History;
  picked: readonly string[];
  onPick: (row: HistoryRow) => void;
}

export function TrendChart({ result, picked, onPick }: TrendChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 800);
  const scale = useMemo(() => scaleOf(result, width), [result, width]);
  const { rows, figure, levels } = result;
  const known = useMemo(() => rows.flatMap((row, i) => (row[figure] === null ? [] : [i])), [rows, figure]);
  const { at, handlers } = useCursor(result, known, onPick);
  if (scale === null) return null;
  const row = at === null ? undefined : rows[at];
  const value = row?.[figure] ?? null;
  return (
    <div class="trendchart" ref={box} data-testid="trend" data-levels={levels.length}>
      <svg
        width={width}
        height={HEIGHT}
        tabIndex={0}
        role="group"
        aria-label={`${summary(result)} ${texts.keys}`}
        {...handlers}
      >
        <Axis scale={scale} width={width} />
        <Levels result={result} scale={scale} />
        <Points result={result} rows={known} scale={scale} picked={picked} at={at} />
        <text x={LEFT} y={HEIGHT - 4}>
          {texts.oldest}
        </text>
        <text x={width - RIGHT} y={HEIGHT - 4} text-anchor="end">
          {texts.latest}
        </text>
      </svg>
      <PngButton name="runs" around={box} />
      {at !== null && row && value !== null && (
        <Tip scale={scale} at={at} value={value} width={width}>
          {texts.point(row.run, row.span, format(figure, value), result.outside.includes(at))}
        </Tip>
      )}
    </div>
  );
}

/** The figure's values, from 0 up. */
export const Axis = ({ scale, width }: { scale: Scale; width: number }) => (
  <>
    {scale.ticks.map(({ at, label }) => (
      <g key={at} class="axis">
        <line x1={LEFT} x2={width - RIGHT} y1={scale.y(at)} y2={scale.y(at)} />
        <text x={LEFT - 8} y={scale.y(at) + 4} text-anchor="end">
          {label}
        </text>
      </g>
    ))}
  </>
);

interface TipProps {
  scale: Scale;
  at: number;
  value: number;
  width: number;
  children: ComponentChildren;
}

/** What a point is, beside it. */
export const Tip = ({ scale, at, value, width, children }: TipProps) => (
  <div class="tooltip" role="status" style={tipAt(scale.x(at), scale.y(value), width)}>
    {children}
  </div>
);

/** On the side of the point that has more room. */
const tipAt = (x: number, y: number, width: number): Record<string, string> =>
  x < width / 2
    ? { left: `${x + 2 * RADIUS}px`, top: `${y + 2 * RADIUS}px` }
    : { right: `${width - x + 2 * RADIUS}px`, top: `${y + 2 * RADIUS}px` };

/** The recording under the pointer, or that the arrow keys moved to; a click and Enter pick it. The
 * `known` rows are those with a point, from left to right. */
export function useCursor({ rows }: History, known: readonly number[], onPick: (row: HistoryRow) => void) {
  const [key, setKey] = useState<string | null>(null);
  const found = known.find((i) => keyOf(rows[i] as HistoryRow) === key);
  const at = found ?? null;
  const move = (to: number | undefined): void => {
    const row = to === undefined ? undefined : rows[to];
    setKey(row ? keyOf(row) : null);
  };
  const pick = (): void => {
    const row = at === null ? undefined : rows[at];
    if (row) onPick(row);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const place = at === null ? known.length : known.indexOf(at);
    if (event.key === "ArrowLeft") move(known[Math.max(0, place - 1)]);
    else if (event.key === "ArrowRight") move(known[Math.min(known.length - 1, place + 1)]);
    else if (event.key === "Home") move(known[0]);
    else if (event.key === "End") move(known.at(-1));
    else if (event.key === "Escape") setKey(null);
    else if (event.key === "Enter") pick();
    else return;
    event.preventDefault();
  };
  const onMouseOver = (event: MouseEvent): void => setKey((event.target as Element).getAttribute("data-key"));
  const handlers = { onKeyDown, onMouseOver, onClick: pick, onBlur: () => setKey(null) };
  return { at, handlers };
}

interface PointsProps {
  result: History;
  /** Those with a point. */
  rows: readonly number[];
  scale: Scale;
  picked: readonly string[];
  at: number | null;
}

export function Points({ result, rows, scale, picked, at }: PointsProps) {
  const { figure, outside } = result;
  return (
    <>
      {rows.map((i) => {
        const row = result.rows[i];
        const value = row?.[figure] ?? null;
        if (!row || value === null) return null;
        const states = [
          picked.includes(keyOf(row)) && "picked",
          outside.includes(i) && "outside",
          row.timeline === "inferred" && "inferred",
        ];
        return (
          <circle
            key={keyOf(row)}
            class={states.filter(Boolean).join(" ")}
            cx={scale.x(i)}
            cy={scale.y(value)}
            r={i === at ? RADIUS + 2 : RADIUS}
            data-key={keyOf(row)}
          />
        );
      })}
    </>
  );
}

function Levels({ result, scale }: { result: History; scale: Scale }) {
  const reach = Math.max(RADIUS + 2, scale.gap / 2);
  return (
    <>
      {result.levels.map((level) => {
        const x = scale.x(level.first) - reach;
        const top = scale.y(level.high);
        const length = scale.x(level.last) + reach - x;
        return (
          <g key={level.first} class="level">
            {result.noise !== null && (
              <rect x={x} y={top} width={length} height={Math.max(1, scale.y(level.low) - top)} />
            )}
            <line x1={x} x2={x + length} y1={scale.y(level.median)} y2={scale.y(level.median)} />
            {level.change !== null && (
              <text x={x + 2} y={Math.max(TOP - 6, top - 6)}>
                {relativeChange(level.change)}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

/** The chart in words, for those who do not see it. */
function summary({ figure, rows, levels }: History): string {
  const changes = levels.flatMap((level) => {
    const row = rows[level.first];
    return level.change === null || row === undefined ? [] : [`${row.run} ${relativeChange(level.change)}`];
  });
  return texts.summary(LABELS[figure], rows.length, changes);
}
