// The columns of the operators table.
import type { OperatorRow, Operators as Result, Options } from "../../api/types";
import { quote } from "../../lib/filter";
import { count } from "../../lib/format";
import { t } from "../../i18n";
import { derived, field, worded, type Column } from "../../widgets/table/columns";
import { linkProps, toKernels } from "../../state/links";
import { CallsCell, StackCell } from "../shared/cells";
import { workColumns } from "../shared/work";

export type Group = NonNullable<Options["operators"]["group"]>;

const texts = t.operators;
const heads = texts.columns;

/** All self time: of the device where there is any, of the host otherwise. */
export function whole(result: Result): number {
  return result.device_self_ns === null
    ? result.host_self_ns
    : result.device_self_ns + (result.unlinked_device_ns ?? 0);
}

export function columnsOf(result: Result, group: Group): Column<OperatorRow>[] {
  const device = result.device_self_ns !== null;
  const columns: (Column<OperatorRow> | false)[] = [
    ...identityColumns(group),
    shareColumn(whole(result), device),
    ...timeColumns(device),
    ...totalShareColumns(result),
    ...countColumns(
      device,
      result.rows.some((r) => r.launches !== null),
    ),
    device &&
      field("backward_device_ns", heads.backwardDevice, "time", 88, {
        optional: true,
        bound: (r) => r.backward_bound_ns,
      }),
    ...memoryColumns(result.rows),
    ...workColumns(result.rows),
    ...totalFlopsColumn(result.rows),
    field("forward", heads.forward, "text", 140, {
      optional: true,
      cell: (r) => <Forward name={r.forward} />,
    }),
  ];
  return columns.filter((c) => c !== false);
}

/** What tells a row from the others. */
const identityColumns = (group: Group): (Column<OperatorRow> | false)[] => [
  worded("name", group === "category" ? heads.category : heads.name, 216, (r) => wordOf(r, group), {
    help: texts.groups[group].row,
    cell: (r) => <Name row={r} group={group} />,
  }),
  group !== "category" &&
    derived(
      "category",
      heads.category,
      "text",
      104,
      (r) => (r.name === null ? null : texts.categories[r.category]),
      { optional: true, code: (r) => (r.name === null ? null : r.category) },
    ),
  group === "shapes" && field("input_shapes", heads.inputShapes, "text", 240),
  group === "module" && field("module", heads.module, "text", 200),
  group === "stack" &&
    field("stack", heads.stack, "text", 280, {
      cell: (r) => <StackCell stack={r.stack} none={texts.noFrames} />,
    }),
];

const shareColumn = (all: number, device: boolean): Column<OperatorRow> =>
  derived(
    "share",
    device ? heads.deviceShare : heads.hostShare,
    "share",
    132,
    (r) => (all > 0 ? ((device ? r.device_self_ns : r.host_self_ns) ?? 0) / all : null),
    {
      additive: true,
      bar: () => (device ? "kernel" : "cpu"),
      bounded: (r) => r.bounded_share,
      bound: (r) => (!device ? 0 : r.device_bound_ns === null ? null : r.device_bound_ns / all),
    },
  );

const timeColumns = (device: boolean): (Column<OperatorRow> | false)[] => [
  device &&
    field("device_self_ns", heads.deviceSelf, "time", 98, {
      additive: true,
      bound: (r) => r.device_bound_ns,
    }),
  device &&
    field("device_total_ns", heads.deviceTotal, "time", 98, { bound: (r) => r.device_total_bound_ns }),
  field("host_self_ns", heads.hostSelf, "time", 88, { additive: true }),
  field("host_total_ns", heads.hostTotal, "time", 88),
  device &&
    field("device_mean_ns", heads.deviceMean, "time", 98, {
      optional: true,
      bound: (r) =>
        r.device_total_bound_ns === null ? null : r.device_total_bound_ns / Math.max(r.calls, 1),
    }),
  field("host_mean_ns", heads.hostMean, "time", 88, { optional: true }),
];

/** The totals as parts of all self time: rows that call one another count the same time. */
const totalShareColumns = (result: Result): (Column<OperatorRow> | false)[] => [
  result.device_self_ns !== null &&
    derived(
      "device_total_share",
      heads.deviceTotalShare,
      "share",
      98,
      (r) => part(r.device_total_ns, whole(result)),
      {
        optional: true,
        bound: (r) => part(r.device_total_bound_ns, whole(result)),
      },
    ),
  derived(
    "host_total_share",
    heads.hostTotalShare,
    "share",
    88,
    (r) => part(r.host_total_ns, result.host_self_ns),
    { optional: true },
  ),
];

const part = (value: number | null, all: number): number | null =>
  value === null || all <= 0 ? null : value / all;

/** Memory allocated less released, as torch's tables have it. */
const memoryColumns = (rows: readonly OperatorRow[]): (Column<OperatorRow> | false)[] => [
  ...(rows.some((r) => r.device_memory_bytes !== null)
    ? [
        field("device_memory_self_bytes", heads.deviceMemorySelf, "bytes", 98, {
          optional: true,
          additive: true,
        }),
        field("device_memory_bytes", heads.deviceMemory, "bytes", 98, { optional: true }),
      ]
    : []),
  ...(rows.some((r) => r.host_memory_bytes !== null)
    ? [
        field("host_memory_self_bytes", heads.hostMemorySelf, "bytes", 98, {
          optional: true,
          additive: true,
        }),
        field("host_memory_bytes", heads.hostMemory, "bytes", 98, { optional: true }),
      ]
    : []),
];

const totalFlopsColumn = (rows: readonly OperatorRow[]): Column<OperatorRow>[] =>
  rows.some((r) => r.total_flops !== null)
    ? [field("total_flops", t.work.columns.totalFlops, "count", 104, { optional: true })]
    : [];

/** Calls, and what these started. */
const countColumns = (device: boolean, launched: boolean): (Column<OperatorRow> | false)[] => [
  field("calls", heads.calls, "count", 76, {
    additive: true,
    cell: (r) =>
      r.longest_row === null ? (
        <span class="value">{count(r.calls)}</span>
      ) : (
        <CallsCell calls={r.calls} selected={String(r.longest_row)} title={texts.showCalls} />
      ),
  }),
  device && field("kernels", heads.kernels, "count", 80, { additive: true }),
  launched && field("launch_ns", heads.launch, "time", 88, { additive: true }),
  launched && field("launches", heads.launches, "count", 80, { additive: true, optional: true }),
];

/** The operator of the forward pass, as a link to its row. */
function Forward({ name }: { name: string | null }) {
  if (name === null) return <span class="value muted">–</span>;
  return (
    <a class="value" {...linkProps({ group: null, filter: `name = ${quote(name)}`, sort: null })}>
      {name}
    </a>
  );
}

/** What a row is called: its operator, or its kind of work. */
export function wordOf(row: OperatorRow, group: Group): string {
  if (row.launcher !== null) return texts.replayed(row.name && wordFor(row.name, row, group), row.launcher);
  if (row.name === null) return texts.nobody;
  return wordFor(row.name, row, group);
}

function wordFor(name: string, row: OperatorRow, group: Group): string {
  return group === "category" ? texts.categories[row.category] : name;
}

function Name({ row, group }: { row: OperatorRow; group: Group }) {
  if (row.name === null)
    return (
      <a class="value" {...linkProps({ view: "kernels", filter: 'operator = ""' })} title={texts.nobodyHelp}>
        {wordOf(row, group)}
      </a>
    );
  // A row that opens has one target; the panel of its calls leads to its kernels.
  if (!row.kernels || group === "category" || row.longest_row !== null)
    return <span class="value">{wordOf(row, group)}</span>;
  return (
    <a class="value" {...toKernels(row.name)} title={texts.toKernels(row.name)}>
      {wordOf(row, group)}
    </a>
  );
}
