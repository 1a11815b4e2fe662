// What a bar is made of, beside it.
import { boundOf, exactDuration, percent } from "../../lib/format";
import { t } from "../../i18n";
import type { Bar, BarPart, Scale } from "./stacked-bars-layout";

interface BarTooltipProps {
  bar: Bar;
  index: number;
  scale: Scale;
  /** Of the chart. */
  width: number;
  noun: string;
  parts: readonly BarPart[];
  hatched: ReadonlySet<string>;
}

/** Right of the bar, or left of it where there is no room. */
export function BarTooltip({ bar, index, scale, width, noun, parts, hatched }: BarTooltipProps) {
  const x = scale.x(index);
  const right = x + scale.barWidth + 8;
  const left = right + 272 > width ? x - 280 : Math.min(right, width - 272);
  return (
    <div class="tooltip" style={{ left: `${left}px` }} role="status" data-testid="step-tooltip">
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
          {parts.map(({ key, label, fill }) => {
            const ns = bar.parts[key] ?? 0;
            if (ns <= 0) return null;
            return (
              <tr key={key}>
                <td>
                  <i
                    class={`swatch ${hatched.has(key) ? "inferred" : "measured"}`}
                    style={{ "--fill": fill }}
                  />
                  {label}
                </td>
                <td>
                  {exactDuration(ns)} <span class="muted">{off(bar.bounds?.[key])}</span>
                </td>
                <td>{percent(ns / bar.total)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

const off = (bound: number | null | undefined): string => (bound === undefined ? "" : boundOf(bound, true));
