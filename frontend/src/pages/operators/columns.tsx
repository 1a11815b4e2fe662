// The columns of the operators table.
import type { OperatorRow, Operators as Result, Options } from "../../api/types";
import { quote } from "../../lib/filter";
import { count } from "../../lib/format";
import { ownFrame } from "../../lib/python-stack";
import { t } from "../../i18n";
import type { Column } from "../../widgets/table/columns";
import { linkProps } from "../../state/links";

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
  const launched = result.rows.some((r) => r.launches !== null);
  const all = whole(result);
  const columns: (Column<OperatorRow> | false)[] = [
    {
      key: "name",
      ...(group === "category" ? heads.category : heads.name),
      kind: "text",
      width: 216,
      help: texts.groups[group].row,
      value: (r) => wordOf(r, group),
      code: (r) => r.name,
      cell: (r) => <Name row={r} group={group} />,
    },
    group !== "category" && {
      key: "category",
      ...heads.category,
      kind: "text",
      width: 104,
      optional: true,
      value: (r) => (r.name === null ? null : texts.categories[r.category]),
      code: (r) => (r.name === null ? null : r.category),
    },
    group === "shapes" && {
      key: "input_shapes",
      ...heads.inputShapes,
      kind: "text",
      width: 240,
      value: (r) => r.input_shapes,
    },
    group === "module" && {
      key: "module",
      ...heads.module,
      kind: "text",
      width: 200,
      value: (r) => r.module,
    },
    group === "stack" && {
      key: "stack",
      ...heads.stack,
      kind: "text",
      width: 280,
      value: (r) => r.stack,
      cell: (r) => (
        <span class="value" title={r.stack?.replaceAll(";", "\n") ?? texts.noFrames}>
          {ownFrame(r.stack)?.replace(/^.*\//, "") ?? "–"}
        </span>
      ),
    },
    {
      key: "share",
      ...heads.share,
      kind: "share",
      width: 132,
      additive: true,
      help: device ? texts.shareOfDevice : texts.shareOfHost,
      value: (r) => (all > 0 ? ((device ? r.device_self_ns : r.host_self_ns) ?? 0) / all : null),
      bar: () => (device ? "kernel" : "cpu"),
      bounded: (r) => r.bounded_share,
      bound: (r) => (!device ? 0 : r.device_bound_ns === null ? null : r.device_bound_ns / all),
    },
    device && {
      key: "device_self_ns",
      ...heads.deviceSelf,
      kind: "time",
      width: 98,
      additive: true,
      value: (r) => r.device_self_ns,
      bound: (r) => r.device_bound_ns,
    },
    device && {
      key: "device_total_ns",
      ...heads.deviceTotal,
      kind: "time",
      width: 98,
      value: (r) => r.device_total_ns,
      bound: (r) => r.device_total_bound_ns,
    },
    {
      key: "host_self_ns",
      ...heads.hostSelf,
      kind: "time",
      width: 88,
      additive: true,
      value: (r) => r.host_self_ns,
    },
    { key: "host_total_ns", ...heads.hostTotal, kind: "time", width: 88, value: (r) => r.host_total_ns },
    {
      key: "calls",
      ...heads.calls,
      kind: "count",
      width: 76,
      additive: true,
      value: (r) => r.calls,
      cell: (r) =>
        r.longest_row === null ? (
          <span class="value">{count(r.calls)}</span>
        ) : (
          <a
            class="value"
            data-testid="drill"
            {...linkProps({ selected: `calls:${r.longest_row}` })}
            title={texts.showCalls}
          >
            {count(r.calls)}
          </a>
        ),
    },
    device && {
      key: "kernels",
      ...heads.kernels,
      kind: "count",
      width: 80,
      additive: true,
      value: (r) => r.kernels,
    },
    launched && {
      key: "launch_ns",
      ...heads.launch,
      kind: "time",
      width: 88,
      additive: true,
      value: (r) => r.launch_ns,
    },
    launched && {
      key: "launches",
      ...heads.launches,
      kind: "count",
      width: 80,
      additive: true,
      optional: true,
      value: (r) => r.launches,
    },
    device && {
      key: "backward_device_ns",
      ...heads.backwardDevice,
      kind: "time",
      width: 88,
      optional: true,
      value: (r) => r.backward_device_ns,
      bound: (r) => r.backward_bound_ns,
    },
    {
      key: "forward",
      ...heads.forward,
      kind: "text",
      width: 140,
      optional: true,
      value: (r) => r.forward,
      cell: (r) =>
        r.forward === null ? (
          <span class="value muted">–</span>
        ) : (
          <a class="value" {...linkProps({ group: null, filter: `name = ${quote(r.forward)}`, sort: null })}>
            {r.forward}
          </a>
        ),
    },
  ];
  return columns.filter((c) => c !== false);
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
  if (!row.kernels || group === "category") return <span class="value">{wordOf(row, group)}</span>;
  return (
    <a
      class="value"
      {...linkProps({ view: "kernels", filter: `operator = ${quote(row.name)}` })}
      title={texts.toKernels(row.name)}
    >
      {wordOf(row, group)}
    </a>
  );
}
