// Horizontal bars with names and values, for the few largest of something.
import type { ComponentChildren } from "preact";
import { color, type Category } from "../../lib/color";
import { boundOf, duration, exactDuration, percent } from "../../lib/format";
import { CsvButton } from "../table/csv-button";
import { ShareBar } from "./share-bar";
import "./bars.css";

export interface BarRow {
  key: string;
  label: string;
  ns: number | null;
  /** Of whatever the list is about, 0 to 1; null draws no bar. */
  share: number | null;
  category: Category;
  inferred: boolean;
  /** How far off `ns` may be: a whisker; null if it is not known. */
  bound?: number | null;
  /** What part of it, 0 to 1, only has limits. */
  bounded?: number;
  note?: string;
  title?: string;
  /** What else there is to say of it, beside its name. */
  detail?: ComponentChildren;
  /** Where a click on the name leads. */
  href?: string;
  onClick?: (event: MouseEvent) => void;
}

export function Bars({ rows, testid }: { rows: readonly BarRow[]; testid: string }) {
  const detailed = rows.some((row) => row.detail !== undefined);
  return (
    <div class="withcsv">
      <CsvButton
        name={testid}
        rows={rows.map((r) => ({ name: r.key, ns: r.ns, bound_ns: r.bound ?? null }))}
      />
      <table class={detailed ? "bars detailed" : "bars"} data-testid={testid}>
        <tbody>
          {rows.map((row) => {
            // The whisker's length in the bar's scale.
            const whisker = row.bound && row.ns && row.share !== null ? (row.bound / row.ns) * row.share : 0;
            return (
              <tr key={row.key} data-key={row.key} data-value={row.ns ?? ""}>
                <BarLabel row={row} />
                {detailed && <td class="detail">{row.detail}</td>}
                <td class="track">
                  {row.share !== null && (
                    <ShareBar
                      share={row.share}
                      bound={whisker}
                      fill={color(row.category)}
                      inferred={row.inferred}
                      bounded={row.bounded ?? 0}
                    />
                  )}
                </td>
                <td
                  class={uncertain(row) ? "number uncertain" : "number"}
                  data-bound={row.bound === undefined ? "" : (row.bound ?? "unknown")}
                  title={`${exactDuration(row.ns)} ${boundOf(row.bound ?? null, uncertain(row))}`}
                >
                  {duration(row.ns)}
                </td>
                <td class="number muted">{row.note ?? percent(row.share)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** What a bar is of; a link, if it leads somewhere. */
export function BarLabel({ row }: { row: Pick<BarRow, "label" | "title" | "href" | "onClick"> }) {
  return (
    <td class="label" title={row.title ?? row.label}>
      {row.href ? (
        <a href={row.href} onClick={row.onClick}>
          {row.label}
        </a>
      ) : (
        row.label
      )}
    </td>
  );
}

const uncertain = (row: BarRow): boolean =>
  row.inferred && row.ns !== null && row.bound !== undefined && row.bound !== 0;
