// The roofline chart: points under the roofs, with a tooltip and keys.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { color } from "../../lib/color";
import { useWidth } from "../../lib/use-width";
import { roofline } from "../../i18n/roofline";
import { PngButton } from "../../widgets/charts/png-button";
import {
  apart,
  BOTTOM,
  ceilingLine,
  decades,
  HEIGHT,
  isDotted,
  LEFT,
  neighbor,
  pointAt,
  radius,
  RIGHT,
  scaleOf,
  slopeLine,
  TOP,
  type ChartPoint,
  type ChartRoof,
  type Scale,
} from "./layout";
import { number, perSecond } from "./points";
import "./chart.css";

const texts = roofline.chart;

interface RooflineChartProps {
  points: readonly ChartPoint[];
  roofs: readonly ChartRoof[];
  /** The keys of the points that the table's filter leaves. */
  shown: ReadonlySet<string>;
  inferred: boolean;
  selected: string | null;
  onSelect: (key: string) => void;
  tooltip: (key: string) => ComponentChildren;
}

export function RooflineChart({
  points,
  roofs,
  shown,
  inferred,
  selected,
  onSelect,
  tooltip,
}: RooflineChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 800);
  const scale = useMemo(() => scaleOf(points, roofs, width), [points, roofs, width]);
  const most = useMemo(() => Math.max(0, ...points.map((p) => p.ns)), [points]);
  const { at, handlers } = useCursor(points, scale, most, selected, onSelect);
  const under = at === null ? undefined : points[at];
  const chosen = points.find((p) => p.key === selected);
  const drawn = useDrawn(points, roofs, scale, most, shown, inferred);
  return (
    <div
      class="roofchart"
      ref={box}
      data-testid="roofline-chart"
      data-points={points.length}
      data-at={under?.key ?? ""}
    >
      <svg
        width={width}
        height={HEIGHT}
        tabIndex={0}
        role="application"
        aria-label={texts.keys(
          points.length,
          roofs.map((r) => labelOf(r)),
        )}
        {...handlers}
      >
        {drawn}
        {chosen && <Mark point={chosen} scale={scale} most={most} kind="chosen" />}
        {under && <Mark point={under} scale={scale} most={most} kind="under" />}
      </svg>
      <PngButton name="roofline" around={box} />
      {under && (
        <Tip point={under} scale={scale}>
          {tooltip(under.key)}
        </Tip>
      )}
    </div>
  );
}

/** Axes, roofs and points: a moved cursor draws none of them again. */
function useDrawn(
  points: readonly ChartPoint[],
  roofs: readonly ChartRoof[],
  scale: Scale,
  most: number,
  shown: ReadonlySet<string>,
  inferred: boolean,
) {
  const ground = useMemo(
    () => (
      <>
        <Axes scale={scale} />
        <Roofs roofs={roofs} scale={scale} />
      </>
    ),
    [roofs, scale],
  );
  const labels = useMemo(() => <RoofLabels roofs={roofs} scale={scale} />, [roofs, scale]);
  const marks = useMemo(
    () => <Points {...{ points, scale, most, shown, inferred }} />,
    [points, scale, most, shown, inferred],
  );
  return (
    <>
      {ground}
      {marks}
      {labels}
    </>
  );
}

/** The point under the pointer, or that the keys moved to; a click and Enter select it. */
function useCursor(
  points: readonly ChartPoint[],
  scale: Scale,
  most: number,
  selected: string | null,
  onSelect: (key: string) => void,
) {
  const [key, setKey] = useState<string | null>(null);
  const found = points.findIndex((p) => p.key === key);
  const at = found < 0 ? null : found;
  const move = (to: number | null): void => setKey(to === null ? null : (points[to]?.key ?? null));
  const under = (event: MouseEvent): number | null => {
    const area = (event.currentTarget as Element).getBoundingClientRect();
    return pointAt(points, scale, most, { x: event.clientX - area.left, y: event.clientY - area.top });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const now = at ?? points.findIndex((p) => p.key === selected);
    const to = neighbor(points, now < 0 ? null : now, event.key);
    if (to !== null) move(to);
    else if (event.key === "Escape" && at !== null) move(null);
    else if ((event.key === "Enter" || event.key === " ") && key !== null && at !== null) onSelect(key);
    else return;
    event.preventDefault();
  };
  const handlers = {
    onPointerMove: (event: PointerEvent): void => move(under(event)),
    onPointerLeave: (): void => move(null),
    onBlur: (): void => move(null),
    onKeyDown,
    onClick: (event: MouseEvent): void => {
      const point = points[under(event) ?? -1];
      if (point) onSelect(point.key);
    },
  };
  return { at, handlers };
}

function Axes({ scale }: { scale: Scale }) {
  const { width, x, y, intensities, rates } = scale;
  return (
    <g class="axes">
      {decades(intensities).map((value) => (
        <g key={`x${value}`} class="tick">
          <line x1={x(value)} x2={x(value)} y1={TOP} y2={HEIGHT - BOTTOM} />
          <text x={x(value)} y={HEIGHT - BOTTOM + 15} text-anchor="middle">
            {number(value)}
          </text>
        </g>
      ))}
      {decades(rates).map((value) => (
        <g key={`y${value}`} class="tick">
          <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
          <text x={LEFT - 6} y={y(value) + 4} text-anchor="end">
            {perSecond(value)}
          </text>
        </g>
      ))}
      <text x={(LEFT + width - RIGHT) / 2} y={HEIGHT - 5} text-anchor="middle">
        {texts.intensity}
      </text>
    </g>
  );
}

const LABEL_PX = 13;

const labelOf = ({ key, rate, memory, seen }: ChartRoof): string =>
  (seen ? texts.seen : texts.roof)(memory ? texts.memory : key, perSecond(rate, memory));

const lineClass = ({ seen }: ChartRoof): string | undefined => (seen ? "seen" : undefined);

interface RoofsProps {
  roofs: readonly ChartRoof[];
  scale: Scale;
}

interface Lines {
  ceilings: { roof: ChartRoof; line: ReturnType<typeof ceilingLine> }[];
  bandwidth: ChartRoof | null;
  slope: ReturnType<typeof slopeLine>;
}

function linesOf({ roofs, scale }: RoofsProps): Lines {
  const bandwidth = roofs.find((r) => r.memory) ?? null;
  const ceilings = roofs
    .filter((r) => !r.memory)
    .map((roof) => ({ roof, line: ceilingLine(roof.rate, bandwidth?.rate ?? null, scale) }));
  const top = ceilings.length > 0 ? Math.max(...ceilings.map(({ roof }) => roof.rate)) : null;
  return { ceilings, bandwidth, slope: bandwidth && slopeLine(bandwidth.rate, top, scale) };
}

function Roofs({ roofs, scale }: RoofsProps) {
  const { ceilings, bandwidth, slope } = linesOf({ roofs, scale });
  return (
    <g class="roofchart-lines">
      {ceilings.map(({ roof, line }) => (
        <g key={roof.key} data-roof={roof.key} data-value={roof.rate}>
          <line class={lineClass(roof)} x1={line.x1} x2={line.x2} y1={line.y} y2={line.y} />
          <Reachable roof={roof} bandwidth={bandwidth?.rate ?? null} scale={scale} />
        </g>
      ))}
      {bandwidth && slope && (
        <g data-roof={bandwidth.key} data-value={bandwidth.rate}>
          <line class={lineClass(bandwidth)} {...slope} />
        </g>
      )}
    </g>
  );
}

/** The best rate of the recording, where it is well below the roof. */
function Reachable({ roof, bandwidth, scale }: { roof: ChartRoof; bandwidth: number | null; scale: Scale }) {
  if (roof.reachable === null || !isDotted(roof) || roof.reachable < scale.rates[0]) return null;
  const line = ceilingLine(roof.reachable, bandwidth, scale);
  return (
    <line class="reachable" x1={line.x1} x2={line.x2} y1={line.y} y2={line.y}>
      <title>{texts.reachable(roof.key, perSecond(roof.reachable))}</title>
    </line>
  );
}

/** Above the points, so that these do not cover them. */
function RoofLabels({ roofs, scale }: RoofsProps) {
  const { ceilings, bandwidth, slope } = linesOf({ roofs, scale });
  const places = apart(
    ceilings.map(({ line }) => line.y - 5),
    LABEL_PX,
  );
  return (
    <g class="roofchart-lines">
      {ceilings.map(({ roof }, i) => (
        <text key={roof.key} x={scale.width - RIGHT - 2} y={places[i]} text-anchor="end">
          {labelOf(roof)}
        </text>
      ))}
      {bandwidth && slope && <SlopeLabel line={slope} label={labelOf(bandwidth)} />}
    </g>
  );
}

interface SlopeLabelProps {
  line: { x1: number; x2: number; y1: number; y2: number };
  label: string;
}

/** Along the line, near its lower end. */
function SlopeLabel({ line, label }: SlopeLabelProps) {
  const angle = (Math.atan2(line.y2 - line.y1, line.x2 - line.x1) * 180) / Math.PI;
  const [x, y] = [line.x1 + (line.x2 - line.x1) * 0.06, line.y1 + (line.y2 - line.y1) * 0.06];
  return (
    <text x={x} y={y - 6} transform={`rotate(${angle} ${x} ${y})`}>
      {label}
    </text>
  );
}

interface PointsProps {
  points: readonly ChartPoint[];
  scale: Scale;
  most: number;
  shown: ReadonlySet<string>;
  inferred: boolean;
}

/** Small points lie above large ones. */
function Points({ points, scale, most, shown, inferred }: PointsProps) {
  const order = [...points].sort((a, b) => b.ns - a.ns);
  return (
    <g
      class={inferred ? "roofchart-points inferred" : "roofchart-points"}
      style={{ "--fill": color("kernel") }}
    >
      <path class="whiskers" d={order.map((p) => whisker(p, scale)).join("")} />
      {order.map((p) => (
        <path
          key={p.key}
          class={shown.has(p.key) ? "" : "hidden"}
          d={outline(p, scale, radius(p.ns, most))}
        />
      ))}
    </g>
  );
}

/** A circle for products of matrices, a square for other work; both of the same area. */
function outline(p: ChartPoint, scale: Scale, r: number): string {
  const [x, y] = [scale.x(p.intensity), scale.y(p.rate)];
  if (p.product) return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  const side = r * Math.sqrt(Math.PI);
  return `M${x - side / 2} ${y - side / 2}h${side}v${side}h${-side}z`;
}

function whisker(p: ChartPoint, { x, y, rates }: Scale): string {
  if (p.low === null || p.high === null) return "";
  const at = x(p.intensity);
  const [low, high] = [y(Math.max(p.low, rates[0])), y(Math.min(p.high, rates[1]))];
  return `M${at - 3} ${low}h6M${at} ${low}V${high}M${at - 3} ${high}h6`;
}

interface MarkProps {
  point: ChartPoint;
  scale: Scale;
  most: number;
  kind: "chosen" | "under";
}

/** An outline around a point, and a line up to what the roofs allow there. */
function Mark({ point, scale, most, kind }: MarkProps) {
  const { x, y, rates } = scale;
  const at = x(point.intensity);
  const above = point.attainable !== null && point.attainable > point.rate ? point.attainable : null;
  return (
    <g class={kind} data-key={point.key}>
      {above !== null && (
        <line class="gap" x1={at} x2={at} y1={y(point.rate)} y2={y(Math.min(above, rates[1]))} />
      )}
      <path d={outline(point, scale, radius(point.ns, most) + 2)} />
    </g>
  );
}

const TIP_PX = 320;

/** Right of the point, or left of it where there is no room. */
function Tip({ point, scale, children }: { point: ChartPoint; scale: Scale; children: ComponentChildren }) {
  const x = scale.x(point.intensity);
  const left = x + 28 + TIP_PX > scale.width ? Math.max(0, x - 28 - TIP_PX) : x + 28;
  return (
    <div
      class="tooltip"
      role="status"
      data-testid="roofline-tooltip"
      style={{
        left: `${left}px`,
        width: `${TIP_PX}px`,
        top: `${Math.max(0, Math.min(scale.y(point.rate) - 60, HEIGHT - 190))}px`,
      }}
    >
      {children}
    </div>
  );
}
