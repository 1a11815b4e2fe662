// A quantity over time that changes in steps: an area, and a line above it. Drag selects a part.
import { useId, useRef, useState } from "preact/hooks";
import { bytes, count, exactDuration } from "../../lib/format";
import { useWidth } from "../../lib/use-width";
import { t } from "../../i18n";
import { PngButton } from "./png-button";
import { byteTicks, timeTicks, type Tick } from "./ticks";

/** From this time on, until the next point. */
export interface Point {
  at: number;
  value: number;
  /** The line above the area; null draws none. */
  limit: number | null;
  /** What the value is made of, if the chart has layers. */
  parts?: readonly number[];
}

export interface Layer {
  label: string;
  fill: string;
  title?: string;
}

interface AreaChartProps {
  /** In order of time; the first and the last are the chart's edges. */
  points: readonly Point[];
  names: { value: string; limit: string; title: string };
  /** What the area is made of, the lowest first; empty for one area. */
  layers?: readonly Layer[];
  /** The greatest value, if it is known to be that. */
  peak: { at: number; value: number } | null;
  /** Whether the axis starts at the least value instead of 0. */
  fit: boolean;
  /** Where something begins: steps. */
  marks: readonly Tick[];
  /** A part that stands out: the life of a row. */
  band: { start: number; end: number } | null;
  onSelect: (start: number, end: number) => void;
}

const HEIGHT = 240;
const LEFT = 76;
const RIGHT = 12;
const TOP = 26;
const BOTTOM = 22;
/** A shorter drag is a click. */
const LEAST_PX = 4;

export function AreaChart({ points, names, layers = [], peak, fit, marks, band, onSelect }: AreaChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 800);
  const [hover, setHover] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const id = useId();

  const start = points[0]?.at ?? 0;
  const end = Math.max(start + 1, points.at(-1)?.at ?? 1);
  const { low, high } = extent(points, fit);
  const inner = Math.max(1, width - LEFT - RIGHT);
  const x = (at: number): number => LEFT + ((at - start) / (end - start)) * inner;
  const y = (value: number): number =>
    HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const time = (px: number): number =>
    Math.round(start + (Math.max(0, Math.min(inner, px - LEFT)) / inner) * (end - start));
  const over = (event: PointerEvent): number =>
    time(event.clientX - (box.current?.getBoundingClientRect().left ?? 0));

  const finish = (to: number | null): void => {
    const from = anchor;
    setAnchor(null);
    if (from === null || to === null || Math.abs(x(to) - x(from)) < LEAST_PX) return;
    setHover(null);
    onSelect(Math.min(from, to), Math.max(from, to));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const now = hover ?? start;
    const step = Math.max(1, (end - start) / 100);
    const steps: Record<string, number> = {
      ArrowRight: now + step,
      ArrowLeft: now - step,
      Home: start,
      End: end,
    };
    const to = steps[event.key];
    if (to !== undefined) {
      const at = Math.round(Math.max(start, Math.min(end, to)));
      if (!event.shiftKey) setAnchor(null);
      else if (anchor === null) setAnchor(now);
      setHover(at);
    } else if (event.key === "Enter" && anchor !== null) finish(hover);
    else if (event.key === "Escape" && anchor !== null) setAnchor(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const shown = hover === null ? null : pointAt(points, hover);
  const baseline = HEIGHT - BOTTOM;
  const tight = marks.filter((m) => m.at > start && m.at < end).length > inner / 24;
  return (
    <div
      class="areachart"
      ref={box}
      data-testid="memory-chart"
      data-points={points.length}
      data-start={start}
      data-end={end}
    >
      <svg
        width={width}
        height={HEIGHT}
        tabIndex={0}
        role="group"
        aria-label={t.widgets.area.keys(names.title)}
        onPointerDown={(e) => {
          if (e.button !== 0) return;
          e.currentTarget.setPointerCapture(e.pointerId);
          setAnchor(over(e));
        }}
        onPointerMove={(e) => setHover(over(e))}
        onPointerUp={(e) => finish(over(e))}
        onPointerCancel={() => setAnchor(null)}
        onPointerLeave={() => {
          if (anchor === null) setHover(null);
        }}
        onBlur={() => {
          setHover(null);
          setAnchor(null);
        }}
        onKeyDown={onKeyDown}
      >
        <Axes {...{ low, high, start, end, inner, width, x, y }} />
        {!tight &&
          marks
            .filter((m) => m.at >= start && m.at < end)
            .map((m) => (
              <g key={m.at} class="mark">
                <line x1={x(m.at)} x2={x(m.at)} y1={TOP - 12} y2={baseline} />
                {x(m.at) + 12 + m.label.length * 6 < width && (
                  <text x={x(m.at) + 4} y={TOP - 14}>
                    {m.label}
                  </text>
                )}
              </g>
            ))}
        <clipPath id={id}>
          <rect x={LEFT} y={TOP} width={inner} height={baseline - TOP} />
        </clipPath>
        <g clip-path={`url(#${id})`}>
          {band && band.end >= start && band.start <= end && (
            <rect
              class="band"
              x={x(Math.max(start, band.start))}
              width={Math.max(2, x(Math.min(end, band.end)) - x(Math.max(start, band.start)))}
              y={TOP}
              height={baseline - TOP}
            />
          )}
          {layers.map((layer, i) => (
            <path key={layer.label} class="layer" fill={layer.fill} d={layerPath(points, i, x, y)} />
          ))}
          {layers.length === 0 && (
            <path class="area" d={`${path(points, x, y, "value")}V${baseline}H${x(start)}z`} />
          )}
          <path class="value" d={path(points, x, y, "value")} />
          <path class="limit" d={path(points, x, y, "limit")} />
        </g>
        {peak && peak.at >= start && peak.at <= end && (
          <Peak x={x(peak.at)} y={y(peak.value)} width={width} value={peak.value} />
        )}
        {anchor !== null && hover !== null && (
          <rect
            class="selection"
            x={Math.min(x(anchor), x(hover))}
            width={Math.abs(x(hover) - x(anchor))}
            y={TOP}
            height={baseline - TOP}
          />
        )}
        {hover !== null && <line class="cursor" x1={x(hover)} x2={x(hover)} y1={TOP} y2={baseline} />}
        {hover !== null && shown && <circle class="dot" cx={x(hover)} cy={y(shown.value)} r="3" />}
      </svg>
      <PngButton name="memory" around={box} />
      {hover !== null && shown && (
        <div
          class="tooltip"
          data-testid="memory-tooltip"
          role="status"
          style={{ left: `${x(hover) + 300 > width ? x(hover) - 284 : x(hover) + 12}px` }}
        >
          <b>{exactDuration(hover)}</b>
          <Values point={shown} names={names} layers={layers} />
        </div>
      )}
    </div>
  );
}

interface AxesProps {
  low: number;
  high: number;
  start: number;
  end: number;
  inner: number;
  width: number;
  x: (at: number) => number;
  y: (value: number) => number;
}

function Axes({ low, high, start, end, inner, width, x, y }: AxesProps) {
  return (
    <>
      {byteTicks(low, high, 4).map((tick) => (
        <g key={tick.at} class="tick">
          <line x1={LEFT} x2={width - RIGHT} y1={y(tick.at)} y2={y(tick.at)} />
          <text x={LEFT - 8} y={y(tick.at) + 4} text-anchor="end">
            {tick.label}
          </text>
        </g>
      ))}
      {timeTicks(start, end, inner / 130).map((tick) => (
        <text
          key={tick.at}
          x={x(tick.at)}
          y={HEIGHT - 6}
          text-anchor={x(tick.at) > width - RIGHT - 24 ? "end" : "middle"}
        >
          {tick.label}
        </text>
      ))}
    </>
  );
}

/** The values at a time, the layers from top to bottom. */
function Values({
  point,
  names,
  layers,
}: {
  point: Point;
  names: AreaChartProps["names"];
  layers: readonly Layer[];
}) {
  return (
    <table>
      <tbody>
        <tr>
          <td>
            {layers.length === 0 && <i class="swatch" style={{ "--fill": "var(--kernel)" }} />}
            {names.value}
          </td>
          <td>{count(point.value)} B</td>
          <td>{bytes(point.value)}</td>
        </tr>
        {layers
          .map((layer, i) => (
            <tr key={layer.label}>
              <td>
                <i class="swatch" style={{ "--fill": layer.fill }} />
                {layer.label}
              </td>
              <td>{count(point.parts?.[i] ?? 0)} B</td>
              <td>{bytes(point.parts?.[i] ?? 0)}</td>
            </tr>
          ))
          .reverse()}
        {point.limit !== null && (
          <tr>
            <td>
              <i class="swatch line" />
              {names.limit}
            </td>
            <td>{count(point.limit)} B</td>
            <td>{bytes(point.limit)}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function Peak({ x, y, width, value }: { x: number; y: number; width: number; value: number }) {
  const right = x > width - 140;
  return (
    <g class="peak" data-testid="peak" data-value={value}>
      <path d={`M${x} ${y - 2}l-4 -7h8z`} />
      <text x={right ? x - 8 : x + 8} y={y - 4} text-anchor={right ? "end" : "start"}>
        {t.widgets.area.peak(bytes(value))}
      </text>
    </g>
  );
}

function path(
  points: readonly Point[],
  x: (at: number) => number,
  y: (value: number) => number,
  key: "value" | "limit",
): string {
  let found = "";
  for (const point of points) {
    const value = point[key];
    if (value === null) continue;
    const [px, py] = [x(point.at).toFixed(1), y(value).toFixed(1)];
    found += found === "" ? `M${px} ${py}` : `H${px}V${py}`;
  }
  return found;
}

/** The outline of a layer: its upper edge there, its lower edge back. What is negative has no height. */
function layerPath(
  points: readonly Point[],
  layer: number,
  x: (at: number) => number,
  y: (value: number) => number,
): string {
  const upTo = (p: Point, count: number): number =>
    (p.parts ?? []).slice(0, count).reduce((sum, part) => sum + Math.max(0, part), 0);
  const edge = points.map(
    (p) => [x(p.at).toFixed(1), y(upTo(p, layer)).toFixed(1), y(upTo(p, layer + 1)).toFixed(1)] as const,
  );
  const there = edge.map(([px, , top], i) => (i === 0 ? `M${px} ${top}` : `H${px}V${top}`)).join("");
  const back = edge
    .map(([, low], i) => `V${low}H${edge[i]?.[0] ?? 0}`)
    .reverse()
    .join("");
  return `${there}${back}z`;
}

/** The point in force at a time. */
export function pointAt(points: readonly Point[], at: number): Point | null {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.at ?? Infinity) <= at) low = middle + 1;
    else high = middle;
  }
  return points[Math.max(0, low - 1)] ?? null;
}

/** What the axis shows: from 0, or if it is to fit, from a little below the least value of the area. */
export function extent(points: readonly Point[], fit: boolean): { low: number; high: number } {
  let [least, most] = [Infinity, 0];
  for (const { value, limit } of points) {
    least = Math.min(least, value);
    most = Math.max(most, value, fit ? value : (limit ?? value));
  }
  if (!fit) return { low: Math.min(0, least), high: Math.max(1, most * 1.06) };
  const room = Math.max(1, (most - least) * 0.08);
  return { low: least - room > 0 || least < 0 ? least - room : 0, high: most + room * 1.5 };
}
