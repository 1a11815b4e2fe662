// Operators by name, or by name and input shapes.
import { useMemo } from "preact/hooks";
import type { OperatorRow, Operators as Result } from "../api";
import { quote } from "../base/filter";
import { duration, exactDuration, percent } from "../base/format";
import { useView } from "../load";
import { go, state } from "../state";
import type { Column } from "../widgets/columns";
import { Segmented } from "../widgets/segmented";
import { Table } from "../widgets/table";
import { Doubts } from "./doubts";
import { linkProps } from "./link";
import { NoDeviceTimes } from "./nodevice";
import type { PageProps } from "./page";
import { Show } from "./status";

type Group = "name" | "shapes";

export function Operators({ selected, base }: PageProps) {
  const group: Group = state.value.group === "shapes" ? "shapes" : "name";
  const resource = useView("operators", selected, { group });
  return (
    <div class="fill">
      {base.provenance.timeline === "none" && <NoDeviceTimes overview={base} />}
      <Doubts findings={base.provenance.warnings} figures={["operators"]} />
      <Show resource={resource}>{(result) => <OperatorTable result={result} group={group} />}</Show>
    </div>
  );
}

function OperatorTable({ result, group }: { result: Result; group: Group }) {
  const device = result.device_self_ns !== null;
  const columns = useMemo(() => columnsOf(result, group), [result, group]);
  const { filter, sort } = state.value;
  return (
    <Table name="operators" noun="operator" columns={columns} rows={result.rows}
      rowKey={(r) => (group === "shapes" ? `${r.name} ${r.input_shapes ?? ""}` : r.name)}
      sort={sort} defaultSort={device ? "-device_self_ns" : "-host_self_ns"} filter={filter}
      inferred={result.provenance.timeline === "inferred"}
      onOpen={(r) => go({ event: `ops/${r.longest_row}` })} onSort={(s) => go({ sort: s })} onFilter={(f) => go({ filter: f }, "replace")}>
      <Segmented label="Group by" value={group} onPick={(g) => go({ group: g === "name" ? null : g })} choices={[
        { value: "name", label: "Name" },
        { value: "shapes", label: "Name and shapes", disabled: !result.has_shapes,
          title: result.has_shapes ? "By name and input shapes" : "The trace was recorded without record_shapes=True." },
      ]} />
      {result.unlinked_device_ns !== null && result.unlinked_device_ns > 0 && (
        <span class="muted" data-testid="unlinked" data-value={result.unlinked_device_ns} title={`Device time of activities that no operator launched: ${exactDuration(result.unlinked_device_ns)}. In no row.`}>
          {duration(result.unlinked_device_ns)} ({percent(result.unlinked_device_ns / whole(result))}) launched by no operator
        </span>
      )}
    </Table>
  );
}

/** All self time: of the device where there is any, of the host otherwise. */
function whole(result: Result): number {
  return result.device_self_ns === null ? result.host_self_ns : result.device_self_ns + (result.unlinked_device_ns ?? 0);
}

function columnsOf(result: Result, group: Group): Column<OperatorRow>[] {
  const device = result.device_self_ns !== null;
  const all = whole(result);
  const columns: (Column<OperatorRow> | false)[] = [
    { key: "name", title: "Operator", kind: "text", width: 216, help: "A row opens the record of its longest call.", value: (r) => r.name, cell: (r) => <Name row={r} /> },
    group === "shapes" && { key: "input_shapes", title: "Input shapes", kind: "text", width: 240, value: (r) => r.input_shapes },
    { key: "share", title: "Share", kind: "share", width: 132, additive: true, help: `Of all ${device ? "device" : "host"} self time.`,
      value: (r) => (all > 0 ? ((device ? r.device_self_ns : r.host_self_ns) ?? 0) / all : null), bar: () => (device ? "kernel" : "cpu"),
      bounded: (r) => r.bounded_share,
      bound: (r) => (!device ? 0 : r.device_bound_ns === null ? null : r.device_bound_ns / all) },
    device && { key: "device_self_ns", title: "Device self", kind: "time", width: 98, additive: true,
      help: "Device activities that the operator itself launched.", value: (r) => r.device_self_ns, bound: (r) => r.device_bound_ns },
    device && { key: "device_total_ns", title: "Device total", kind: "time", width: 98,
      help: "Those of the operators that it called, too.", value: (r) => r.device_total_ns, bound: (r) => r.device_total_bound_ns },
    { key: "host_self_ns", title: "Host self", kind: "time", width: 88, additive: true,
      help: "Without what the operator called.", value: (r) => r.host_self_ns },
    { key: "host_total_ns", title: "Host total", kind: "time", width: 88, help: "With what it called.", value: (r) => r.host_total_ns },
    { key: "calls", title: "Calls", kind: "count", width: 76, additive: true, value: (r) => r.calls },
    device && { key: "kernels", title: "Kernels", kind: "count", width: 80, additive: true,
      help: "Device activities that the operator itself launched.", value: (r) => r.kernels },
  ];
  return columns.filter((c) => c !== false);
}

function Name({ row }: { row: OperatorRow }) {
  if (!row.kernels) return <span class="value">{row.name}</span>;
  return <a class="value" {...linkProps({ view: "kernels", filter: `operator = ${quote(row.name)}` })} title={`${row.name}\nShow its kernels`}>{row.name}</a>;
}
