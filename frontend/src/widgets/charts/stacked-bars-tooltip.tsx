// What a bar is made of, beside it.
import { CATEGORIES, color, LABELS, type Category } from "../../lib/color";
import { boundOf, exactDuration, percent } from "../../lib/format";
import { t } from "../../i18n";
import { segments, type Bar, type Scale } from "./stacked-bars-layout";

interface BarTooltipProps {
  bar: Bar;
  index: number;
  scale: Scale;
  /** Of the chart. */
  width: number;
  noun: string;
  names: Readonly<Partial<Record<Category, string>>>;
  hatched: ReadonlySet<Category>;
}

/** Right of the bar, or left of it where there is no room. */
export function BarTooltip({ bar, index, scale, width, noun, names, hatched }: BarTooltipProps) {
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
