// A histogram of durations as SVG.
import { useRef } from "preact/hooks";
import { count, duration } from "../../lib/format";
import { useWidth } from "../../lib/use-width";
import { t } from "../../i18n";
import { PngButton } from "./png-button";
import { niceTicks } from "./ticks";
import "./histogram.css";

export interface HistogramBin {
  low: number;
  high: number;
  count: number;
}

interface HistogramProps {
  name: string;
  title: string;
  bins: readonly HistogramBin[];
  fill: string;
  /** The value to point out. */
  mark?: number | null;
}

const HEIGHT = 132;
/** On the right is the button of the picture. */
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 48, 8, 20];

export function Histogram({ name, title, bins, fill, mark = null }: HistogramProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 480);
  const most = Math.max(1, ...bins.map((b) => b.count));
  const slot = (width - LEFT - RIGHT) / Math.max(1, bins.length);
  const y = (n: number): number => HEIGHT - BOTTOM - (n / most) * (HEIGHT - TOP - BOTTOM);
  return (
    <div
      class="histogram"
      ref={box}
      data-testid={`histogram-${name}`}
      data-bins={bins.length}
      data-value={bins.reduce((sum, b) => sum + b.count, 0)}
    >
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={t.widgets.histogram.label(
          title,
          bins.map((b) => ({ calls: b.count, low: duration(b.low) })),
        )}
      >
        {niceTicks(most)
          .filter((at) => at % 1 === 0)
          .map((at) => (
            <g key={at} class="tick">
              <line x1={LEFT} x2={width - RIGHT} y1={y(at)} y2={y(at)} />
              <text x={LEFT - 6} y={y(at) + 4} text-anchor="end">
                {count(at)}
              </text>
            </g>
          ))}
        <Bins {...{ bins, fill, slot, y }} />
        {mark !== null && <Mark x={LEFT + slot * placeIn(bins, mark)} />}
      </svg>
      <PngButton name={name} around={box} />
    </div>
  );
}

interface BinsProps {
  bins: readonly HistogramBin[];
  fill: string;
  /** From the left edge of one bar to that of the next. */
  slot: number;
  y: (count: number) => number;
}

function Bins({ bins, fill, slot, y }: BinsProps) {
  const every = Math.max(1, Math.ceil(64 / slot));
  const x = (i: number): number => LEFT + i * slot;
  return (
    <>
      {bins.map((b, i) => (
        <g key={b.low}>
          <rect x={x(i)} width={slot} y={TOP} height={HEIGHT - TOP - BOTTOM} fill="transparent">
            <title>{t.widgets.histogram.bin(b.count, duration(b.low), duration(b.high))}</title>
          </rect>
          <rect
            class="bar"
            x={x(i) + 0.5}
            width={Math.max(0.5, slot - 1)}
            y={y(b.count)}
            height={y(0) - y(b.count)}
            fill={fill}
          />
          {i % every === 0 && (
            <text x={x(i)} y={HEIGHT - 5} text-anchor={i === 0 ? "start" : "middle"}>
              {duration(b.low)}
            </text>
          )}
        </g>
      ))}
    </>
  );
}

/** Where a value lies, in bins from the first one on: a bin's place is even on the axis. */
export function placeIn(bins: readonly HistogramBin[], value: number): number {
  const at = bins.findIndex((b) => value < b.high);
  const bin = bins[at];
  if (!bin) return bins.length;
  return at + Math.max(0, value - bin.low) / (bin.high - bin.low);
}

const Mark = ({ x }: { x: number }) => (
  <path
    class="mark"
    d={`M${x} ${TOP}V${HEIGHT - BOTTOM}M${x - 4} ${TOP - 6}h8l-4 6z`}
    data-testid="histogram-mark"
  />
);
