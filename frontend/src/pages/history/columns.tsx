// The columns of the runs table.
import type { History, HistoryRow } from "../../api/types";
import { dateTime, MISSING } from "../../lib/format";
import { linkProps } from "../../state/links";
import type { State } from "../../state/url";
import { t } from "../../i18n";
import { derived, field, rangeBound, type Column } from "../../widgets/table/columns";

const texts = t.history;
const heads = texts.columns;

export const keyOf = (row: HistoryRow): string => `${row.run}/${row.span}`;

/** What a recording does not have is not uncertain. */
const boundOf = (value: number | null, low: number | null, high: number | null): number | null =>
  value === null ? 0 : rangeBound(value, low, high);

/** The selection of a recording, over all its steps. */
export const placeOf = (row: HistoryRow): Partial<State> => ({
  run: row.run,
  rank: row.rank,
  span: row.span,
  step: null,
  window: null,
});

/** A configuration may have hundreds of entries: the menu of columns has the others. */
const MOST_SHOWN = 16;

/** The columns, and one for each parameter; those that are the same everywhere are not shown. */
export function columnsOf({ rows, parameters }: History): readonly Column<HistoryRow>[] {
  const names = rows.flatMap((row) => row.parameters.map(({ name }) => name));
  const ordered = [...new Set([...parameters, ...names])];
  const shown = new Set(parameters.slice(0, MOST_SHOWN));
  const own = ordered.map((name) => parameterColumn(name, rows, shown.has(name)));
  // Beside the figures that they explain: the texts behind them take the rest of the screen.
  return [...FIGURES, ...own, ...TEXTS];
}

function parameterColumn(name: string, rows: readonly HistoryRow[], shown: boolean): Column<HistoryRow> {
  const of = (row: HistoryRow) => row.parameters.find((one) => one.name === name);
  const isNumber = rows.every((row) => of(row)?.number !== null);
  const head = {
    title: name,
    help: texts.sources[rows.flatMap((row) => of(row) ?? [])[0]?.source ?? "metadata"],
  };
  const value = (row: HistoryRow) => (isNumber ? (of(row)?.number ?? null) : (of(row)?.value ?? null));
  return derived(`parameter.${name}`, head, isNumber ? "count" : "text", 96, value, {
    optional: !shown,
    cell: (row) => <span class="value">{of(row)?.value ?? MISSING}</span>,
  });
}

const FIGURES: readonly Column<HistoryRow>[] = [
  field("run", heads.run, "text", 200, {
    cell: (r) => (
      <a class="value" {...linkProps({ view: "overview", ...placeOf(r) })} title={r.run}>
        {r.run}
      </a>
    ),
  }),
  field("span", heads.span, "count", 60),
  field("written_ns", heads.written, "text", 164, {
    value: (r) => (r.written_ns === null ? null : dateTime(r.written_ns)),
  }),
  field("device", heads.device, "text", 140),
  field("ranks", heads.ranks, "count", 60, { optional: true }),
  field("step_ns", heads.step, "time", 88, { bound: (r) => r.step_bound_ns }),
  field("steps", heads.steps, "count", 60),
  field("deviation_ns", heads.deviation, "time", 88, { optional: true }),
  field("utilization", heads.utilization, "share", 92, {
    bound: (r) => boundOf(r.utilization, r.utilization_low, r.utilization_high),
  }),
  field("mfu", heads.mfu, "share", 76, { bound: (r) => boundOf(r.mfu, r.mfu_low, r.mfu_high) }),
  field("memory_peak_bytes", heads.memory, "bytes", 112),
];

const TEXTS: readonly Column<HistoryRow>[] = [
  field("saving_share", heads.saving, "share", 76),
  field("finding", heads.finding, "text", 240, {
    code: (r) => r.rule,
    cell: (r) =>
      r.finding && (
        <a class="value" {...linkProps({ view: "advice", ...placeOf(r) })} title={r.finding}>
          {r.finding}
        </a>
      ),
  }),
  field("verdict", heads.verdict, "text", 320, {
    value: (r) => r.verdict ?? r.problem ?? (r.state === "waiting" ? texts.waiting : null),
  }),
];
