// Device activities by name and launching operator.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { KernelRow, KernelTable as Result, Options } from "../api";
import { categoryOf, color } from "../base/color";
import { firstWord, quote } from "../base/filter";
import { count, duration, exactDuration, MISSING, percent } from "../base/format";
import { useView } from "../load";
import { rowOfStep, type Selected } from "../place";
import { go, state } from "../state";
import type { Column } from "../widgets/columns";
import { Segmented } from "../widgets/segmented";
import { Table } from "../widgets/table";
import { Doubts } from "./doubts";
import { InstancesPanel } from "./instancespanel";
import { linkProps } from "./link";
import { NoDeviceTimes } from "./nodevice";
import type { PageProps } from "./page";
import { Show } from "./status";

type Group = NonNullable<Options["kernels"]["group"]>;

const GROUPS: readonly Group[] = ["operator", "name", "launch"];

const TEXTS = ["name", "kind", "operator", "grid", "block", "matrix_unit"];
const NUMBERS = ["share", "total_ns", "calls", "mean_ns", "median_ns", "p95_ns", "min_ns", "max_ns", "registers", "shared_bytes", "occupancy", "blocks_per_sm", "short_calls"];

export function Kernels({ selected, base }: PageProps) {
  const group = GROUPS.find((g) => g === state.value.group) ?? "operator";
  const { filter } = state.value;
  // With more rows than a page takes, the server looks for the first word.
  const [many, setMany] = useState(false);
  const find = many ? firstWord(filter, TEXTS, NUMBERS) : null;
  const resource = useView("kernels", selected, { group, ...(find !== null && { find }) });
  const rows = resource.loaded.status === "ready" ? resource.loaded.value : null;
  useEffect(() => { if (rows) setMany(rows.total_rows > rows.rows.length); }, [rows]);
  if (base.provenance.timeline === "none") return <div class="fill"><NoDeviceTimes overview={base} /></div>;
  return (
    <div class="fill">
      <Doubts findings={base.provenance.warnings} figures={["kernels"]} />
      <Show resource={resource}>{(result) => <KernelTable result={result} group={group} selected={selected} step={rowOfStep(base.steps, selected.place.step)} />}</Show>
    </div>
  );
}

function KernelTable({ result, group, selected, step }: { result: Result; group: Group; selected: Selected; step: number | null }) {
  const inferred = result.provenance.timeline === "inferred";
  const columns = useMemo(() => columnsOf(inferred, result, group), [inferred, result, group]);
  const { filter, sort, selected: key } = state.value;
  const opened = result.rows.find((r) => String(r.longest_row) === key);
  return (
    <>
      <Table name="kernels" noun="kernel" columns={columns} rows={result.rows} rowKey={(r) => keyOf(r, group)}
        sort={sort} defaultSort="-total_ns" filter={filter} inferred={inferred} selected={opened ? keyOf(opened, group) : null}
        onOpen={(r) => go({ event: `kernels/${r.longest_row}` })} onSort={(s) => go({ sort: s })} onFilter={(f) => go({ filter: f }, "replace")}>
        <Segmented label="Group by" value={group} onPick={(g) => go({ group: g === "operator" ? null : g, selected: null })} choices={[
          { value: "operator", label: "Name and operator" },
          { value: "name", label: "Name" },
          { value: "launch", label: "Launch", disabled: !result.has_configs, title: result.has_configs ? "By name, operator, grid, block, registers and shared memory" : "The trace does not say how kernels were launched." },
        ]} />
        <Notes result={result} />
      </Table>
      {opened && <InstancesPanel selected={selected} of={{ view: "instances", index: opened.longest_row, group }} name={opened.name} calls={opened.calls} category={categoryOf(opened.kind)} step={step} inferred={inferred} close={() => go({ selected: null })} />}
    </>
  );
}

/** Short kernels, the matrix unit, and what the rows leave out. */
function Notes({ result: { short, matrix, others } }: { result: Result }) {
  return (
    <>
      {short && short.calls > 0 && (
        <span class="muted" data-testid="short" data-value={short.calls} title={`${count(short.calls)} kernels, ${exactDuration(short.total_ns)} in all. Launching a kernel takes the host some microseconds.`}>
          {percent(short.share)} shorter than {duration(short.short_ns)}
        </span>
      )}
      {matrix && matrix.eligible_ns > 0 && (
        <span class="muted" data-testid="matrix" data-value={matrix.used_ns} title={`Of ${exactDuration(matrix.eligible_ns)} in kernels of gemm, convolution and attention operators, ${exactDuration(matrix.used_ns)} are in kernels whose names say that they use it. In all: ${exactDuration(matrix.total_ns)}.`}>
          {matrix.unit}: {percent(matrix.used_ns / matrix.eligible_ns)} of what could
        </span>
      )}
      {others && <span class="muted" data-testid="others" data-value={others.rows} title="The filter's first word is looked for in all.">{count(others.rows)} others: {duration(others.total_ns)}</span>}
    </>
  );
}

function keyOf(row: KernelRow, group: Group): string {
  return group === "launch" ? String(row.longest_row) : `${row.kind} ${row.name} ${row.operator ?? ""}`;
}

const columnsOf = (inferred: boolean, result: Result, group: Group): readonly Column<KernelRow>[] => {
  const told = (key: keyof KernelRow): boolean => result.rows.some((r) => r[key] !== null);
  const columns: (Column<KernelRow> | false)[] = [
    { key: "name", title: "Kernel", kind: "text", width: 280, help: "A row opens the record of its longest activity.", value: (r) => r.name },
    { key: "kind", title: "Kind", kind: "text", width: 140, value: (r) => r.kind,
      cell: (r) => <span class="value"><i class={`swatch ${inferred ? (r.bounded_share === 1 ? "bounded" : "inferred") : ""}`} style={{ "--fill": color(categoryOf(r.kind)) }} />{r.kind}</span> },
    group !== "name" && { key: "operator", title: "Operator", kind: "text", width: 180, help: "The innermost operator that launched it.",
      value: (r) => r.operator, cell: (r) => <Operator row={r} /> },
    group === "launch" && { key: "grid", title: "Grid", kind: "text", width: 112, help: "Blocks in each dimension.", value: (r) => r.grid },
    group === "launch" && { key: "block", title: "Block", kind: "text", width: 104, help: "Threads of a block in each dimension.", value: (r) => r.block },
    group === "launch" && { key: "registers", title: "Registers", kind: "count", width: 80, help: "Of a thread.", value: (r) => r.registers },
    group === "launch" && { key: "shared_bytes", title: "Shared", kind: "bytes", width: 80, help: "Shared memory of a block.", value: (r) => r.shared_bytes },
    { key: "share", title: "Share", kind: "share", width: 136, additive: true, help: "Of the sum of all kernels' times.",
      value: (r) => r.share, bar: (r) => categoryOf(r.kind),
      bounded: (r) => r.bounded_share,
      bound: (r) => (r.bound_ns === null ? null : r.total_ns === 0 ? 0 : (r.bound_ns / r.total_ns) * r.share) },
    { key: "total_ns", title: "Total", kind: "time", width: 76, additive: true, value: (r) => r.total_ns, bound: (r) => r.bound_ns,
      help: "Sum over all calls: more than the busy time where streams overlap." },
    { key: "calls", title: "Calls", kind: "count", width: 76, additive: true, help: "The link shows them, one by one.", value: (r) => r.calls,
      cell: (r) => <a class="value" data-testid="drill" {...linkProps({ selected: String(r.longest_row) })} title="Show them, one by one">{count(r.calls)}</a> },
    { key: "mean_ns", title: "Mean", kind: "time", width: 76, value: (r) => r.mean_ns, bound: (r) => r.mean_bound_ns },
    { key: "median_ns", title: "Median", kind: "time", width: 76, value: (r) => r.median_ns, bound: (r) => r.median_bound_ns },
    { key: "p95_ns", title: "95 %", kind: "time", width: 76, help: "95 % took no longer.", value: (r) => r.p95_ns, bound: (r) => r.p95_bound_ns },
    { key: "min_ns", title: "Min", kind: "time", width: 76, value: (r) => r.min_ns, bound: (r) => r.min_bound_ns },
    { key: "max_ns", title: "Max", kind: "time", width: 76, value: (r) => r.max_ns, bound: (r) => r.max_bound_ns },
    told("occupancy") && { key: "occupancy", title: "Occupancy", kind: "share", width: 84, optional: group !== "launch", help: "As the device's profiler estimates it; the mean weighted by duration.", value: (r) => r.occupancy },
    told("blocks_per_sm") && { key: "blocks_per_sm", title: "Blocks per SM", kind: "count", width: 104, optional: true, help: "The mean weighted by duration.", value: (r) => r.blocks_per_sm, cell: (r) => <span class="value">{r.blocks_per_sm === null ? MISSING : Number(r.blocks_per_sm.toPrecision(3))}</span> },
    { key: "short_calls", title: "Short", kind: "count", width: 76, additive: true, optional: true, help: `Calls of less than ${duration(result.short?.short_ns ?? 0)}.`, value: (r) => r.short_calls },
    result.matrix !== null && { key: "matrix_unit", title: result.matrix.unit, kind: "text", width: 104, optional: true, help: "Whether the name says that it uses them.", value: (r) => (r.matrix_unit ? "yes" : "no") },
  ];
  return columns.filter((c) => c !== false);
};

function Operator({ row }: { row: KernelRow }) {
  if (row.operator === null) return <span class="value muted" title="No operator's launch leads to it.">–</span>;
  return <a class="value" {...linkProps({ view: "operators", filter: `name = ${quote(row.operator)}` })} title={`${row.operator}\nShow the operator`}>{row.operator}</a>;
}
