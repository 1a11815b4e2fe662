// The columns of the kernels table.
import type { KernelRow, KernelTable as Result, Options } from "../../api/types";
import { categoryOf, color } from "../../lib/color";
import { duration, MISSING } from "../../lib/format";
import { t } from "../../i18n";
import { derived, field, type Column } from "../../widgets/table/columns";
import { CallsCell, OperatorCell } from "../shared/cells";
import { workColumns } from "../shared/work";

export type Group = NonNullable<Options["kernels"]["group"]>;

const texts = t.kernels;
const heads = texts.columns;

export function columnsOf(inferred: boolean, result: Result, group: Group): readonly Column<KernelRow>[] {
  const columns: (Column<KernelRow> | false)[] = [
    ...identityColumns(inferred, group),
    ...(group === "launch" ? LAUNCH : []),
    ...TIMES,
    ...occupancyColumns(result, group),
    ...workColumns(result.rows),
    field("short_calls", heads.short, "count", 76, {
      additive: true,
      optional: true,
      help: texts.shorterThan(duration(result.short?.short_ns ?? 0)),
    }),
    result.matrix !== null &&
      derived(
        "matrix_unit",
        { title: result.matrix.unit, ...heads.matrix },
        "text",
        104,
        (r) => (r.matrix_unit ? texts.yes : texts.no),
        { optional: true, code: (r) => (r.matrix_unit ? "yes" : "no") },
      ),
  ];
  return columns.filter((c) => c !== false);
}

/** What tells a row from the others. */
const identityColumns = (inferred: boolean, group: Group): (Column<KernelRow> | false)[] => [
  field("name", heads.name, "text", 280, {
    code: (r) => r.full_name,
    full: (r) => r.full_name,
  }),
  field("kind", heads.kind, "text", 112, {
    cell: (r) => (
      <span class="value">
        <i
          class={`swatch ${inferred ? (r.bounded_share === 1 ? "bounded" : "inferred") : ""}`}
          style={{ "--fill": color(categoryOf(r.kind)) }}
        />
        {r.kind}
      </span>
    ),
  }),
  group !== "name" &&
    field("operator", heads.operator, "text", 180, {
      cell: (r) => <OperatorCell name={r.operator} none={texts.noOperator} />,
    }),
];

/** How a kernel was launched. */
const LAUNCH: readonly Column<KernelRow>[] = [
  field("grid", heads.grid, "text", 112),
  field("block", heads.block, "text", 104),
  field("registers", heads.registers, "count", 80),
  field("shared_bytes", heads.shared, "bytes", 80),
];

const TIMES: readonly Column<KernelRow>[] = [
  field("share", heads.share, "share", 136, {
    additive: true,
    bar: (r) => categoryOf(r.kind),
    bounded: (r) => r.bounded_share,
    bound: (r) => (r.bound_ns === null ? null : r.total_ns === 0 ? 0 : (r.bound_ns / r.total_ns) * r.share),
  }),
  field("total_ns", heads.total, "time", 76, { additive: true, bound: (r) => r.bound_ns }),
  field("calls", heads.calls, "count", 76, {
    additive: true,
    cell: (r) => <CallsCell calls={r.calls} selected={String(r.longest_row)} title={texts.showCalls} />,
  }),
  field("mean_ns", heads.mean, "time", 76, { bound: (r) => r.mean_bound_ns }),
  field("median_ns", heads.median, "time", 76, { bound: (r) => r.median_bound_ns }),
  field("p95_ns", heads.p95, "time", 76, { bound: (r) => r.p95_bound_ns }),
  field("min_ns", heads.min, "time", 76, { bound: (r) => r.min_bound_ns }),
  field("max_ns", heads.max, "time", 76, { bound: (r) => r.max_bound_ns }),
];

/** How full the device was, where that is known of a row. */
function occupancyColumns({ rows }: Result, group: Group): (Column<KernelRow> | false)[] {
  const isKnown = (key: keyof KernelRow): boolean => rows.some((r) => r[key] !== null);
  return [
    isKnown("occupancy") &&
      field("occupancy", heads.occupancy, "share", 84, { optional: group !== "launch" }),
    isKnown("blocks_per_sm") &&
      field("blocks_per_sm", heads.blocksPerSm, "count", 104, {
        optional: true,
        cell: (r) => (
          <span class="value">
            {r.blocks_per_sm === null ? MISSING : Number(r.blocks_per_sm.toPrecision(3))}
          </span>
        ),
      }),
  ];
}
