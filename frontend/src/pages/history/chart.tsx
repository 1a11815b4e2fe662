// A figure of all recordings in order of time: a point each, and the levels with their noise.
import { useMemo, useRef } from "preact/hooks";
import type { History, HistoryRow } from "../../api/types";
import { useWidth } from "../../lib/use-width";
import { t } from "../../i18n";
import { PngButton } from "../../widgets/charts/png-button";
import { keyOf } from "./columns";
import { HEIGHT, LEFT, RIGHT, TOP, RADIUS, scaleOf, type Scale } from "./layout";
import { format, LABELS, signedPercent } from "./figures";

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
  const outside = useMemo(() => new Set(result.outside), [result]);
  if (scale === null) return null;
  const { figure, rows, levels } = result;
  return (
    <div class="trendchart" ref={box} data-testid="trend" data-levels={levels.length}>
      <svg width={width} height={HEIGHT} role="img" aria-label={summary(result)}>
        {scale.ticks.map(({ at, label }) => (
          <g key={at} class="axis">
            <line x1={LEFT} x2={width - RIGHT} y1={scale.y(at)} y2={scale.y(at)} />
            <text x={LEFT - 8} y={scale.y(at) + 4} text-anchor="end">
              {label}
            </text>
          </g>
        ))}
        <Levels result={result} scale={scale} />
        {rows.map((row, i) => {
          const value = row[figure];
          if (value === null) return null;
          const state = picked.includes(keyOf(row)) ? "picked" : outside.has(i) ? "outside" : "";
          return (
            <circle
              key={keyOf(row)}
              class={`${state} ${row.timeline === "inferred" ? "inferred" : ""}`}
              cx={scale.x(i)}
              cy={scale.y(value)}
              r={RADIUS}
              data-key={keyOf(row)}
              onClick={() => onPick(row)}
            >
              <title>{texts.point(row.run, row.span, format(figure, value), outside.has(i))}</title>
            </circle>
          );
        })}
        <text class="end" x={LEFT} y={HEIGHT - 4}>
          {texts.oldest}
        </text>
        <text class="end" x={width - RIGHT} y={HEIGHT - 4} text-anchor="end">
          {texts.latest}
        </text>
      </svg>
      <PngButton name="runs" around={box} />
    </div>
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
                {signedPercent(level.change)}
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
    return level.change === null || row === undefined ? [] : [`${row.run} ${signedPercent(level.change)}`];
  });
  return texts.summary(LABELS[figure], rows.length, changes);
}
