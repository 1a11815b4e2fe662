// A quantity over time that changes in steps: an area, and a line above it. Drag selects a part.
import { useId, useRef } from "preact/hooks";
import { exactDuration } from "../../lib/format";
import { useWidth } from "../../lib/use-width";
import { t } from "../../i18n";
import {
  BASELINE,
  HEIGHT,
  LEFT,
  pointAt,
  scaleOf,
  TOP,
  type Layer,
  type Point,
  type Scale,
} from "./area-layout";
import { Areas, Axes, Band, Marks, Peak, Values, type Names } from "./area-parts";
import { PngButton } from "./png-button";
import type { Tick } from "./ticks";
import { useRangeCursor } from "./use-range-cursor";
import "./area-chart.css";

interface AreaChartProps {
  /** In order of time; the first and the last are the chart's edges. */
  points: readonly Point[];
  names: Names;
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

export function AreaChart({ points, names, layers = [], peak, fit, marks, band, onSelect }: AreaChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 800);
  const id = useId();
  const scale = scaleOf(points, fit, width);
  const { start, end, x, y } = scale;
  const { hover, anchor, handlers } = useRangeCursor(box, scale, onSelect);
  const shown = hover === null ? null : pointAt(points, hover);
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
        {...handlers}
      >
        <Axes scale={scale} />
        <Marks marks={marks} scale={scale} />
        <clipPath id={id}>
          <rect x={LEFT} y={TOP} width={scale.inner} height={BASELINE - TOP} />
        </clipPath>
        <g clip-path={`url(#${id})`}>
          {band && <Band band={band} scale={scale} />}
          <Areas points={points} layers={layers} scale={scale} />
        </g>
        {peak && peak.at >= start && peak.at <= end && (
          <Peak x={x(peak.at)} y={y(peak.value)} width={width} value={peak.value} />
        )}
        {hover !== null && shown && <Cursor at={hover} anchor={anchor} point={shown} scale={scale} />}
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

interface CursorProps {
  at: number;
  /** Where the selection began, if there is one. */
  anchor: number | null;
  point: Point;
  scale: Scale;
}

function Cursor({ at, anchor, point, scale: { x, y } }: CursorProps) {
  return (
    <>
      {anchor !== null && (
        <rect
          class="selection"
          x={Math.min(x(anchor), x(at))}
          width={Math.abs(x(at) - x(anchor))}
          y={TOP}
          height={BASELINE - TOP}
        />
      )}
      <line class="cursor" x1={x(at)} x2={x(at)} y1={TOP} y2={BASELINE} />
      <circle class="dot" cx={x(at)} cy={y(point.value)} r="3" />
    </>
  );
}
