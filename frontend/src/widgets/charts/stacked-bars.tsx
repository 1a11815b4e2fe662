// Stacked bars, one per step: own SVG, one path per category however many bars there are.
import { useId, useRef, useState } from "preact/hooks";
import { CATEGORIES, color, DEVICE, LABELS, LOOKS, type Category, type Look } from "../../lib/color";
import { boundOf, duration, exactDuration, percent } from "../../lib/format";
import { useWidth } from "../../lib/use-width";
import { t } from "../../i18n";
import { PngButton } from "./png-button";

export interface Bar {
  key: string;
  label: string;
  total: number;
  parts: Readonly<Record<Category, number>>;
  /** Cut off by the end of the recording: drawn faint, with a dashed outline. */
  incomplete: boolean;
  /** How parts are known; a part that is not here has one look, see `hatched`. */
  looks?: Readonly<Partial<Record<Category, Readonly<Partial<Record<Look, number>>>>>>;
  /** How far off an inferred total and its parts may be; null where that is not known. */
  bound?: number | null;
  bounds?: Readonly<Partial<Record<Category, number | null>>>;
}

interface StackedBarsProps {
  bars: readonly Bar[];
  /** Device parts, or those of `hatched`, are hatched. */
  inferred: boolean;
  hatched?: ReadonlySet<Category>;
  selected: string | null;
  average: number | null;
  onSelect: (key: string) => void;
  /** What a bar is, and what the chart is called for tests. */
  noun?: string;
  testid?: string;
  /** The name of its picture's file. */
  picture?: string;
  /** What the parts are called; by default as their categories. */
  names?: Readonly<Partial<Record<Category, string>>>;
}

const HEIGHT = 220;
const LEFT = 60;
const BOTTOM = 20;
const TOP = 8;
const WIDEST = 64;

export function StackedBars({
  bars,
  inferred,
  selected,
  average,
  onSelect,
  noun = t.widgets.bars.step,
  testid = "step-chart",
  picture = "steps",
  names = {},
  hatched = DEVICE,
}: StackedBarsProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 800);
  const [hover, setHover] = useState<number | null>(null);
  const id = useId();

  const most = Math.max(1, ...bars.map((b) => b.total + (b.bound ?? 0)));
  const ticks = niceTicks(most);
  const top = Math.max(most, ticks.at(-1) ?? 0);
  const slot = Math.min(WIDEST * 1.4, (width - LEFT - 8) / Math.max(1, bars.length));
  const barWidth = Math.max(0.5, Math.min(WIDEST, slot < 4 ? slot : slot - Math.min(8, slot * 0.25)));
  const x = (i: number): number => LEFT + 4 + i * slot + (slot - barWidth) / 2;
  const y = (ns: number): number => HEIGHT - BOTTOM - (ns / top) * (HEIGHT - BOTTOM - TOP);
  const known = inferred ? hatched : NONE;
  const paths = pathsOf(bars, x, y, barWidth, known);
  const whiskers = bars.map((b, i) =>
    barWidth < 4 || !b.bound
      ? ""
      : whisker(x(i) + barWidth / 2, y(b.total + b.bound), y(Math.max(0, b.total - b.bound))),
  );
  const at = (clientX: number, svg: SVGSVGElement): number | null => {
    const i = Math.floor((clientX - svg.getBoundingClientRect().left - LEFT - 4) / slot);
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
  const every = Math.max(1, Math.ceil((Math.max(...bars.map((b) => b.label.length)) * 7 + 8) / slot));
  const chosen = bars.findIndex((b) => b.key === selected);
  const shown = bars[hover ?? -1];
  return (
    <div class="stackedbars" ref={box} data-testid={testid} data-bars={bars.length}>
      <svg
        width={width}
        height={HEIGHT}
        tabIndex={0}
        role="group"
        aria-label={t.widgets.bars.keys(noun)}
        onPointerMove={(e) => setHover(at(e.clientX, e.currentTarget))}
        onPointerLeave={() => setHover(null)}
        onBlur={() => setHover(null)}
        onKeyDown={onKeyDown}
        onClick={(e) => {
          const bar = bars[at(e.clientX, e.currentTarget) ?? -1];
          if (bar) onSelect(bar.key);
        }}
      >
        <defs>
          {CATEGORIES.map((c) => (
            <pattern
              key={c}
              id={`${id}-${c}`}
              width="6"
              height="6"
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <rect width="6" height="6" fill={color(c)} opacity="0.35" />
              <rect width="3" height="6" fill={color(c)} />
            </pattern>
          ))}
        </defs>
        {ticks.map((tick) => (
          <g key={tick} class="tick">
            <line x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
            <text x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
              {tick === 0 ? "0" : duration(tick).replace(/\.0+(?= )|(\.\d*?)0+(?= )/, "$1")}
            </text>
          </g>
        ))}
        {hover !== null && (
          <rect
            class="cursor"
            x={LEFT + 4 + hover * slot}
            y={TOP}
            width={slot}
            height={HEIGHT - BOTTOM - TOP}
          />
        )}
        {CATEGORIES.flatMap((c) =>
          LOOKS.map((look) => {
            const { whole, cut } = paths[c][look];
            if (!whole && !cut) return null;
            const style =
              look === "measured"
                ? { fill: color(c) }
                : look === "inferred"
                  ? { fill: `url(#${id}-${c})` }
                  : { fill: color(c), "fill-opacity": 0.12, stroke: color(c), "stroke-dasharray": "3 2" };
            return (
              <g key={`${c}-${look}`} data-part={c} data-look={look} {...style}>
                <path d={whole} />
                <path d={cut} opacity="0.45" />
              </g>
            );
          }),
        )}
        <path class="whiskers" d={whiskers.join("")} />
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
          <rect
            class="chosen"
            x={x(chosen) - 2}
            y={y(bars[chosen]?.total ?? 0) - 2}
            width={barWidth + 4}
            height={y(0) - y(bars[chosen]?.total ?? 0) + 4}
          />
        )}
        {average !== null && bars.length > 1 && (
          <g class="average">
            <line x1={LEFT} x2={width} y1={y(average)} y2={y(average)} />
            <title>{t.widgets.bars.average(duration(average))}</title>
          </g>
        )}
        {bars.map(
          (b, i) =>
            i % every === 0 && (
              <text key={b.key} class="axis" x={x(i) + barWidth / 2} y={HEIGHT - 6} text-anchor="middle">
                {b.label}
              </text>
            ),
        )}
      </svg>
      <PngButton name={picture} around={box} />
      {shown && hover !== null && (
        <Tooltip
          bar={shown}
          noun={noun}
          names={names}
          hatched={known}
          left={Math.min(x(hover) + barWidth + 8, width - 272)}
          flip={x(hover) + barWidth + 280 > width ? x(hover) - 280 : null}
        />
      )}
    </div>
  );
}

const NONE: ReadonlySet<Category> = new Set();

interface TooltipProps {
  bar: Bar;
  noun: string;
  names: Readonly<Partial<Record<Category, string>>>;
  hatched: ReadonlySet<Category>;
  left: number;
  flip: number | null;
}

function Tooltip({ bar, noun, names, hatched, left, flip }: TooltipProps) {
  return (
    <div class="tooltip" style={{ left: `${flip ?? left}px` }} role="status" data-testid="step-tooltip">
      <b>
        {noun} {bar.label}
      </b>
      {bar.incomplete && <span class="warn"> {t.widgets.bars.incomplete}</span>}
      <table>
        <tbody>
          <tr>
            <td>{t.widgets.bars.duration}</td>
            <td>
              {exactDuration(bar.total)} <span class="muted">{off(bar.bound)}</span>
            </td>
            <td />
          </tr>
          {CATEGORIES.filter((c) => bar.parts[c] > 0).map((c) => (
            <tr key={c}>
              <td>
                {segments(bar, c, hatched).map(([look]) => (
                  <i key={look} class={`swatch ${look}`} style={{ "--fill": color(c) }} />
                ))}
                {names[c] ?? LABELS[c]}
              </td>
              <td>
                {exactDuration(bar.parts[c])} <span class="muted">{off(bar.bounds?.[c])}</span>
              </td>
              <td>{percent(bar.parts[c] / bar.total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const off = (bound: number | null | undefined): string => (bound === undefined ? "" : boundOf(bound, true));

/** The looks of a part and how much has each, the best known first. */
function segments(bar: Bar, category: Category, hatched: ReadonlySet<Category>): [Look, number][] {
  const byLook = bar.looks?.[category];
  if (!byLook) return [[hatched.has(category) ? "inferred" : "measured", bar.parts[category]]];
  return LOOKS.flatMap((look): [Look, number][] => (byLook[look] ? [[look, byLook[look]]] : []));
}

const whisker = (x: number, top: number, low: number): string =>
  `M${x - 3} ${top}h6M${x - 3} ${low}h6M${x} ${top}V${low}`;

type Paths = Record<Category, Record<Look, { whole: string; cut: string }>>;

function pathsOf(
  bars: readonly Bar[],
  x: (i: number) => number,
  y: (ns: number) => number,
  width: number,
  hatched: ReadonlySet<Category>,
): Paths {
  const empty = (): Paths[Category] => ({
    measured: { whole: "", cut: "" },
    inferred: { whole: "", cut: "" },
    bounded: { whole: "", cut: "" },
  });
  const paths = Object.fromEntries(CATEGORIES.map((c) => [c, empty()])) as Paths;
  bars.forEach((bar, i) => {
    let base = 0;
    for (const [c, look, part] of CATEGORIES.flatMap((of) =>
      segments(bar, of, hatched).map(([known, ns]) => [of, known, ns] as const),
    )) {
      if (part <= 0) continue;
      const low = y(base);
      base += part;
      // A hairline between the parts: they differ by more than colour.
      const height = low - y(base);
      const gap = height > 3 ? 1 : 0;
      paths[c][look][bar.incomplete ? "cut" : "whole"] +=
        `M${px(x(i))} ${px(low - gap)}h${px(width)}V${px(y(base))}h${px(-width)}z`;
    }
  });
  return paths;
}

const px = (at: number): string => at.toFixed(2);

/** Round values from 0 to just below or at the largest, about four. */
export function niceTicks(most: number): number[] {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
  const ticks: number[] = [];
  for (let i = 0; i * step <= most * 1.0001; i += 1) ticks.push(i * step);
  return ticks;
}
