// Stacked bars, one per step: own SVG, one path per part however many bars there are.
import { useId, useRef, useState } from "preact/hooks";
import { duration } from "../../lib/format";
import { useWidth } from "../../lib/use-width";
import { t } from "../../i18n";
import { PngButton } from "./png-button";
import {
  BOTTOM,
  HEIGHT,
  LEFT,
  pathsOf,
  scaleOf,
  TOP,
  whiskers,
  type Bar,
  type BarPart,
  type Scale,
} from "./stacked-bars-layout";
import { BarTooltip } from "./stacked-bars-tooltip";
import "./stacked-bars.css";

interface StackedBarsProps {
  bars: readonly Bar[];
  /** What the bars are stacked of, the lowest first. */
  parts: readonly BarPart[];
  /** The keys of the parts that are inferred. */
  hatched: ReadonlySet<string>;
  selected: string | null;
  average: number | null;
  onSelect: (key: string) => void;
  /** What a bar is, and what the chart is called for tests. */
  noun?: string;
  testid?: string;
  /** The name of its picture's file. */
  picture?: string;
}

export function StackedBars({
  bars,
  parts,
  hatched,
  selected,
  average,
  onSelect,
  noun = t.widgets.bars.step,
  testid = "step-chart",
  picture = "steps",
}: StackedBarsProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 800);
  const id = useId();
  const scale = scaleOf(bars, width);
  const { hover, handlers } = useCursor(bars, scale, selected, onSelect);
  const shown = bars[hover ?? -1];
  return (
    <div class="stackedbars" ref={box} data-testid={testid} data-bars={bars.length}>
      <svg
        width={width}
        height={HEIGHT}
        tabIndex={0}
        role="group"
        aria-label={t.widgets.bars.keys(noun)}
        {...handlers}
      >
        <Hatches id={id} parts={parts} />
        <Ticks scale={scale} width={width} />
        {hover !== null && (
          <rect
            class="cursor"
            x={LEFT + 4 + hover * scale.slot}
            y={TOP}
            width={scale.slot}
            height={HEIGHT - BOTTOM - TOP}
          />
        )}
        <Parts {...{ id, bars, parts, scale, hatched }} />
        <path class="whiskers" d={whiskers(bars, scale)} />
        <Outlines bars={bars} scale={scale} selected={selected} />
        {average !== null && bars.length > 1 && (
          <g class="average">
            <line x1={LEFT} x2={width} y1={scale.y(average)} y2={scale.y(average)} />
            <title>{t.widgets.bars.average(duration(average))}</title>
          </g>
        )}
        <Labels bars={bars} scale={scale} />
      </svg>
      <PngButton name={picture} around={box} />
      {shown && hover !== null && (
        <BarTooltip bar={shown} index={hover} {...{ scale, width, noun, parts, hatched }} />
      )}
    </div>
  );
}

/** The bar under the pointer, or that the arrow keys moved to; a click and Enter select it. */
function useCursor(
  bars: readonly Bar[],
  { slot }: Scale,
  selected: string | null,
  onSelect: (key: string) => void,
) {
  const [hover, setHover] = useState<number | null>(null);
  const at = (event: MouseEvent): number | null => {
    const edge = (event.currentTarget as Element).getBoundingClientRect().left;
    const i = Math.floor((event.clientX - edge - LEFT - 4) / slot);
    return i >= 0 && i < bars.length ? i : null;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const now = hover ?? bars.findIndex((b) => b.key === selected);
    const steps: Record<string, number> = {
      ArrowRight: now + 1,
      ArrowLeft: now - 1,
      Home: 0,
      End: bars.length - 1,
    };
    const to = steps[event.key];
    const bar = bars[hover ?? -1];
    if (to !== undefined) setHover(Math.max(0, Math.min(bars.length - 1, to)));
    else if ((event.key === "Enter" || event.key === " ") && bar) onSelect(bar.key);
    else return;
    event.preventDefault();
  };
  const handlers = {
    onPointerMove: (event: PointerEvent): void => setHover(at(event)),
    onPointerLeave: (): void => setHover(null),
    onBlur: (): void => setHover(null),
    onKeyDown,
    onClick: (event: MouseEvent): void => {
      const bar = bars[at(event) ?? -1];
      if (bar) onSelect(bar.key);
    },
  };
  return { hover, handlers };
}

/** The fill of what is inferred, by part. */
function Hatches({ id, parts }: { id: string; parts: readonly BarPart[] }) {
  return (
    <defs>
      {parts.map(({ key, fill }) => (
        <pattern
          key={key}
          id={`${id}-${key}`}
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width="6" height="6" fill={fill} opacity="0.35" />
          <rect width="3" height="6" fill={fill} />
        </pattern>
      ))}
    </defs>
  );
}

function Ticks({ scale: { ticks, y }, width }: { scale: Scale; width: number }) {
  return (
    <>
      {ticks.map((tick) => (
        <g key={tick} class="tick">
          <line x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
          <text x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
            {tick === 0 ? "0" : duration(tick).replace(/\.0+(?= )|(\.\d*?)0+(?= )/, "$1")}
          </text>
        </g>
      ))}
    </>
  );
}

interface PartsProps {
  id: string;
  bars: readonly Bar[];
  parts: readonly BarPart[];
  scale: Scale;
  hatched: ReadonlySet<string>;
}

function Parts({ id, bars, parts, scale, hatched }: PartsProps) {
  const paths = pathsOf(bars, parts, scale);
  return (
    <>
      {parts.map((part, i) => {
        const { whole = "", cut = "" } = paths[i] ?? {};
        if (!whole && !cut) return null;
        const look = hatched.has(part.key) ? "inferred" : "measured";
        const fill = look === "inferred" ? `url(#${id}-${part.key})` : part.fill;
        return (
          <g key={part.key} data-part={part.key} data-look={look} fill={fill}>
            <path d={whole} />
            <path d={cut} opacity="0.45" />
          </g>
        );
      })}
    </>
  );
}

/** Around bars that the end of the recording cuts off, and around the selected one. */
function Outlines({
  bars,
  scale,
  selected,
}: {
  bars: readonly Bar[];
  scale: Scale;
  selected: string | null;
}) {
  const { x, y, barWidth } = scale;
  const chosen = bars.findIndex((b) => b.key === selected);
  const top = y(bars[chosen]?.total ?? 0);
  return (
    <>
      {bars.map(
        (b, i) =>
          b.incomplete && (
            <rect
              key={b.key}
              class="cut"
              x={x(i)}
              y={y(b.total)}
              width={barWidth}
              height={y(0) - y(b.total)}
            />
          ),
      )}
      {chosen >= 0 && (
        <rect class="chosen" x={x(chosen) - 2} y={top - 2} width={barWidth + 4} height={y(0) - top + 4} />
      )}
    </>
  );
}

/** Below the bars: as many labels as there is room for. */
function Labels({ bars, scale: { x, slot, barWidth } }: { bars: readonly Bar[]; scale: Scale }) {
  const longest = Math.max(...bars.map((b) => b.label.length));
  const every = Math.max(1, Math.ceil((longest * 7 + 8) / slot));
  return (
    <>
      {bars.map(
        (b, i) =>
          i % every === 0 && (
            <text key={b.key} class="axis" x={x(i) + barWidth / 2} y={HEIGHT - 6} text-anchor="middle">
              {b.label}
            </text>
          ),
      )}
    </>
  );
}
