// The parts of an area chart: its axes, areas, marks, and the values at the pointer.
import { bytes, count } from "../../lib/format";
import { t } from "../../i18n";
import {
  BASELINE,
  HEIGHT,
  layerPath,
  LEFT,
  path,
  RIGHT,
  TOP,
  type Layer,
  type Point,
  type Scale,
} from "./area-layout";
import { byteTicks, LETTER_PX, timeTicks, type Tick } from "./ticks";

export interface Names {
  value: string;
  limit: string;
  title: string;
}

export function Axes({ scale: { low, high, start, end, inner, width, x, y } }: { scale: Scale }) {
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
          text-anchor={x(tick.at) + (tick.label.length * LETTER_PX) / 2 > width ? "end" : "middle"}
        >
          {tick.label}
        </text>
      ))}
    </>
  );
}

/** Where something begins; with too many of these none is drawn. */
export function Marks({ marks, scale }: { marks: readonly Tick[]; scale: Scale }) {
  const { start, end, inner, width, x } = scale;
  if (marks.filter((m) => m.at > start && m.at < end).length > inner / 24) return null;
  return (
    <>
      {marks
        .filter((m) => m.at >= start && m.at < end)
        .map((m) => (
          <g key={m.at} class="mark">
            <line x1={x(m.at)} x2={x(m.at)} y1={TOP - 12} y2={BASELINE} />
            {x(m.at) + 12 + m.label.length * 6 < width && (
              <text x={x(m.at) + 4} y={TOP - 14}>
                {m.label}
              </text>
            )}
          </g>
        ))}
    </>
  );
}

interface AreasProps {
  points: readonly Point[];
  layers: readonly Layer[];
  scale: Scale;
}

/** The layers, or the one area, and the lines above. */
export function Areas({ points, layers, scale }: AreasProps) {
  return (
    <>
      {layers.map((layer, i) => (
        <path key={layer.label} class="layer" fill={layer.fill} d={layerPath(points, i, scale)} />
      ))}
      {layers.length === 0 && (
        <path class="area" d={`${path(points, scale, "value")}V${BASELINE}H${scale.x(scale.start)}z`} />
      )}
      <path class="value" d={path(points, scale, "value")} />
      <path class="limit" d={path(points, scale, "limit")} />
    </>
  );
}

/** A part that stands out. */
export function Band({ band, scale }: { band: { start: number; end: number }; scale: Scale }) {
  const { start, end, x } = scale;
  if (band.end < start || band.start > end) return null;
  const left = x(Math.max(start, band.start));
  return (
    <rect
      class="band"
      x={left}
      width={Math.max(2, x(Math.min(end, band.end)) - left)}
      y={TOP}
      height={BASELINE - TOP}
    />
  );
}

/** The values at a time, the layers from top to bottom. */
export function Values({ point, names, layers }: { point: Point; names: Names; layers: readonly Layer[] }) {
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

/** A mark at the greatest value. */
export function Peak({ x, y, width, value }: { x: number; y: number; width: number; value: number }) {
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
