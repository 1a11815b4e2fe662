// A figure of all recordings by the value of a parameter: a point each, and a line of medians.
import { useMemo, useRef } from "preact/hooks";
import type { History, HistoryRow } from "../../api/types";
import { useWidth } from "../../lib/use-width";
import { t } from "../../i18n";
import { PngButton } from "../../widgets/charts/png-button";
import { Axis, Points, Tip, useCursor } from "./chart";
import { HEIGHT } from "./layout";
import { format, LABELS } from "./figures";
import { sweepOf, textOf } from "./sweep-layout";
import "./chart.css";

const texts = t.history;

interface SweepChartProps {
  result: History;
  parameter: string;
  picked: readonly string[];
  onPick: (row: HistoryRow) => void;
}

export function SweepChart({ result, parameter, picked, onPick }: SweepChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 800);
  const sweep = useMemo(() => sweepOf(result, parameter, width), [result, parameter, width]);
  const { at, handlers } = useCursor(result, sweep?.known ?? [], onPick);
  if (sweep === null) return <p class="muted">{texts.noSweep}</p>;
  const row = at === null ? undefined : result.rows[at];
  const label = texts.sweepOf(LABELS[result.figure], parameter);
  return (
    <div class="trendchart" ref={box} data-testid="sweep" data-values={sweep.middle.length}>
      <svg width={width} height={HEIGHT} tabIndex={0} role="group" aria-label={label} {...handlers}>
        <Axis scale={sweep} width={width} />
        <polyline
          class="medians"
          points={sweep.middle.map((one) => `${one.x},${sweep.y(one.value)}`).join(" ")}
        />
        <Points result={result} rows={sweep.known} scale={sweep} picked={picked} at={at} />
        {sweep.marks.map(({ x, label: value }) => (
          <text key={x} x={x} y={HEIGHT - 4} text-anchor="middle">
            {value}
          </text>
        ))}
      </svg>
      <PngButton name="sweep" around={box} />
      {at !== null && row && (
        <Tip scale={sweep} at={at} value={row[result.figure] ?? 0} width={width}>
          {texts.sweepPoint(
            row.run,
            parameter,
            textOf(row, parameter) ?? "",
            format(result.figure, row[result.figure] ?? 0),
          )}
        </Tip>
      )}
    </div>
  );
}
