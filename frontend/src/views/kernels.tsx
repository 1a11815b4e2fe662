// Device activities by name and launching operator.
import { useMemo } from "preact/hooks";
import type { KernelRow, KernelTable as Result } from "../api";
import { categoryOf, color } from "../base/color";
import { quote } from "../base/filter";
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

type Group = "operator" | "name";

export function Kernels({ selected, base }: PageProps) {
  const group: Group = state.value.group === "name" ? "name" : "operator";
  const resource = useView("kernels", selected, { group });
  if (base.provenance.timeline === "none") return <div class="fill"><NoDeviceTimes overview={base} /></div>;
  return (
    <div class="fill">
      <Doubts findings={base.provenance.warnings} figures={["kernels"]} />
      <Show resource={resource}>{(result) => <KernelTable result={result} group={group} />}</Show>
    </div>
  );
}

function KernelTable({ result, group }: { result: Result; group: Group }) {
  const inferred = result.provenance.timeline === "inferred";
  // By name only, rows have no one operator.
  const columns = useMemo(() => columnsOf(inferred).filter((c) => group === "operator" || c.key !== "operator"), [inferred, group]);
  const { filter, sort } = state.value;
  return (
    <Table name="kernels" noun="kernel" columns={columns} rows={result.rows} rowKey={(r) => `${r.kind} ${r.name} ${r.operator ?? ""}`}
      sort={sort} defaultSort="-total_ns" filter={filter} inferred={inferred}
      onOpen={(r) => go({ event: `kernels/${r.longest_row}` })} onSort={(s) => go({ sort: s })} onFilter={(f) => go({ filter: f }, "replace")}>
      <Segmented label="Group by" value={group} onPick={(g) => go({ group: g === "operator" ? null : g })} choices={[
        { value: "operator", label: "Name and operator" },
        { value: "name", label: "Name" },
      ]} />
    </Table>
  );
}

const columnsOf = (inferred: boolean): readonly Column<KernelRow>[] => [
  { key: "name", title: "Kernel", kind: "text", width: 280, help: "A row opens the record of its longest activity.", value: (r) => r.name },
  { key: "kind", title: "Kind", kind: "text", width: 140, value: (r) => r.kind,
    cell: (r) => <span class="value"><i class={`swatch ${inferred ? (r.bounded_share === 1 ? "bounded" : "inferred") : ""}`} style={{ "--fill": color(categoryOf(r.kind)) }} />{r.kind}</span> },
  { key: "operator", title: "Operator", kind: "text", width: 180, help: "The innermost operator that launched it.",
    value: (r) => r.operator, cell: (r) => <Operator row={r} /> },
  { key: "share", title: "Share", kind: "share", width: 136, additive: true, help: "Of the sum of all kernels' times.",
    value: (r) => r.share, bar: (r) => categoryOf(r.kind),
    bounded: (r) => r.bounded_share,
    bound: (r) => (r.bound_ns === null ? null : r.total_ns === 0 ? 0 : (r.bound_ns / r.total_ns) * r.share) },
  { key: "total_ns", title: "Total", kind: "time", width: 76, additive: true, value: (r) => r.total_ns, bound: (r) => r.bound_ns,
    help: "Sum over all calls: more than the busy time where streams overlap." },
  { key: "calls", title: "Calls", kind: "count", width: 76, additive: true, value: (r) => r.calls },
  { key: "mean_ns", title: "Mean", kind: "time", width: 76, value: (r) => r.mean_ns, bound: (r) => r.mean_bound_ns },
  { key: "median_ns", title: "Median", kind: "time", width: 76, value: (r) => r.median_ns, bound: (r) => r.median_bound_ns },
  { key: "min_ns", title: "Min", kind: "time", width: 76, value: (r) => r.min_ns, bound: (r) => r.min_bound_ns },
  { key: "max_ns", title: "Max", kind: "time", width: 76, value: (r) => r.max_ns, bound: (r) => r.max_bound_ns },
];

function Operator({ row }: { row: KernelRow }) {
  if (row.operator === null) return <span class="value muted" title="No operator's launch leads to it.">–</span>;
  return <a class="value" {...linkProps({ view: "operators", filter: `name = ${quote(row.operator)}` })} title={`${row.operator}\nShow the operator`}>{row.operator}</a>;
}
