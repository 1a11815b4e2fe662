// Changes as bars from a middle line: shorter to the left, longer to the right. What may be no change
// at all is drawn hollow, and how far off a change may be is its whisker.
import { exactDuration, signedDuration } from "../../lib/format";
import { BarLabel } from "./bars";
import { CsvButton } from "../table/csv-button";
import "./change-bars.css";

export interface Change {
  key: string;
  label: string;
  ns: number | null;
  /** How far off it may be; null if that is not known. */
  error: number | null;
  /** Whether it is more than chance and error bounds. */
  sure: boolean;
  /** By inferred times: hatched, if it is sure. */
  inferred?: boolean;
  /** What is said of it, in a word or two; and the code of that, for the CSV. */
  word: string;
  certainty: string;
  title?: string;
  href?: string;
  onClick?: (event: MouseEvent) => void;
}

/** With less room than this for the smallest, nobody sees it. */
const LEAST = 0.4;

export function ChangeBars({ rows, testid }: { rows: readonly Change[]; testid: string }) {
  if (rows.length === 0) return null;
  const most = Math.max(1, ...rows.map((r) => Math.abs(r.ns ?? 0)));
  return (
    <div class="withcsv">
      <CsvButton
        name={testid}
        rows={rows.map((r) => ({ name: r.key, change_ns: r.ns, error_ns: r.error, certainty: r.certainty }))}
      />
      <table class="bars change-bars" data-testid={testid}>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key} data-key={row.key} data-value={row.ns ?? ""} data-sure={row.sure}>
              <BarLabel row={row} />
              <td class="track">
                <Bar row={row} most={most} />
              </td>
              <td
                class="number"
                title={`${exactDuration(row.ns)}${row.error ? ` ± ${exactDuration(row.error)}` : ""}`}
              >
                {signedDuration(row.ns)}
              </td>
              <td class="word muted">{row.word}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** From the middle, with its whisker; `most` is the largest change of all. */
function Bar({ row, most }: { row: Change; most: number }) {
  const ns = row.ns ?? 0;
  const width = ns === 0 ? 0 : Math.max((Math.min(Math.abs(ns), most) / most) * 50, LEAST);
  const low = Math.max(-most, ns - (row.error ?? 0)),
    high = Math.min(most, ns + (row.error ?? 0));
  return (
    <span class="changebar">
      {width > 0 && (
        <span
          class={`${ns > 0 ? "longer" : "shorter"} ${certaintyOf(row)}`}
          style={{ left: `${ns > 0 ? 50 : 50 - width}%`, width: `${width}%` }}
        />
      )}
      {row.error !== null && row.error > 0 && ns !== 0 && (
        <i
          class="whisker"
          style={{
            left: `${50 + (low / most) * 50}%`,
            width: `${((high - low) / most) * 50}%`,
          }}
        />
      )}
    </span>
  );
}

/** How a bar is drawn: whether the change is certain and measured. */
function certaintyOf({ sure, inferred }: Pick<Change, "sure" | "inferred">): string {
  if (!sure) return "hollow";
  return inferred ? "inferred" : "";
}
