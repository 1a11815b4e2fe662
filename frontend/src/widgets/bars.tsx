// Horizontal bars with names and values, for the few largest of something.
import type { Category } from "../base/color";
import { bound, duration, exactDuration, percent } from "../base/format";
import { ShareBar } from "./sharebar";

export interface BarRow {
  key: string;
  label: string;
  ns: number | null;
  /** Of whatever the list is about, 0 to 1; null draws no bar. */
  share: number | null;
  category: Category;
  inferred: boolean;
  /** How far off `ns` may be: a whisker. */
  bound?: number | null;
  note?: string;
  title?: string;
  /** Where a click on the name leads. */
  href?: string;
  onClick?: (event: MouseEvent) => void;
}

export function Bars({ rows, testid }: { rows: readonly BarRow[]; testid: string }) {
  return (
    <table class="bars" data-testid={testid}>
      <tbody>
        {rows.map((row) => {
          // The whisker's length in the bar's scale.
          const whisker = row.bound && row.ns && row.share !== null ? (row.bound / row.ns) * row.share : 0;
          return (
            <tr key={row.key} data-key={row.key} data-value={row.ns ?? ""}>
              <td class="label" title={row.title ?? row.label}>
                {row.href ? <a href={row.href} onClick={row.onClick}>{row.label}</a> : row.label}
              </td>
              <td class="track">
                {row.share !== null && <ShareBar share={row.share} bound={whisker} category={row.category} inferred={row.inferred} />}
              </td>
              <td class="number" title={`${exactDuration(row.ns)} ${bound(row.bound ?? null)}`}>{duration(row.ns)}</td>
              <td class="number muted">{row.note ?? percent(row.share)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
