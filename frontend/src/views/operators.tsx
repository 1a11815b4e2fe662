// Operators by name, input shapes, call stack, module or kind of work.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { OperatorRow, Operators as Result, Options } from "../api";
import { firstWord, quote } from "../base/filter";
import { count, duration, exactDuration, percent, plural } from "../base/format";
import { ownFrame } from "../base/frames";
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
import { StackPanel } from "./stackpanel";
import { Show } from "./status";

type Group = NonNullable<Options["operators"]["group"]>;

const GROUPS: readonly { value: Group; label: string; title: string; needs: "has_shapes" | "has_stacks" | "has_modules" | null; without: string }[] = [
  { value: "name", label: "Name", title: "By name", needs: null, without: "" },
  { value: "shapes", label: "Name and shapes", title: "By name and input shapes", needs: "has_shapes", without: "The trace was recorded without record_shapes=True." },
  { value: "stack", label: "Call stack", title: "By name and the Python frames around it", needs: "has_stacks", without: "The trace was recorded without with_stack=True." },
  { value: "module", label: "Module", title: "By name and the innermost nn.Module around it", needs: "has_modules", without: "The trace has no modules: record with with_stack=True." },
  { value: "category", label: "Category", title: "By kind of work: gemm, convolution, attention, …", needs: null, without: "" },
];

export function Operators({ selected, base }: PageProps) {
  const group = GROUPS.find((g) => g.value === state.value.group)?.value ?? "name";
  const { filter, sort } = state.value;
  // With more rows than a page takes, the server looks for the words and puts them in order.
  const [many, setMany] = useState(false);
  const find = many ? firstWord(filter, TEXTS, [...SORTED, "share"]) : null;
  const key = many ? sort?.split(",")[0] ?? "" : "";
  const resource = useView("operators", selected, { group, ...(find !== null && { find }), ...(["name", ...SORTED].includes(key.replace(/^-/, "")) && { sort: key }) });
  const rows = resource.loaded.status === "ready" ? resource.loaded.value : null;
  useEffect(() => { if (rows) setMany(rows.total_rows > rows.found_rows || rows.others !== null); }, [rows]);
  return (
    <div class="fill">
      {base.provenance.timeline === "none" && <NoDeviceTimes overview={base} />}
      <Doubts findings={base.provenance.warnings} figures={["operators"]} />
      <Show resource={resource}>{(result) => <OperatorTable result={result} group={group} selected={selected} step={rowOfStep(base.steps, selected.place.step)} />}</Show>
    </div>
  );
}

const TEXTS = ["name", "category", "input_shapes", "module", "stack", "forward"];
const SORTED = ["calls", "host_self_ns", "host_total_ns", "device_self_ns", "device_total_ns", "kernels", "launches", "launch_ns", "backward_device_ns"];

function OperatorTable({ result, group, selected: place, step }: { result: Result; group: Group; selected: Selected; step: number | null }) {
  const device = result.device_self_ns !== null;
  const columns = useMemo(() => columnsOf(result, group), [result, group]);
  const { filter, sort, selected } = state.value;
  const opened = group === "stack" ? result.rows.find((r) => r.stack !== null && String(r.longest_row) === selected) : undefined;
  const drilled = result.rows.find((r) => r.longest_row !== null && selected === `calls:${r.longest_row}`);
  const open = (r: OperatorRow): void => {
    if (group === "category") go({ group: null, filter: `category = ${quote(r.category)}`, sort: null });
    else if (group === "stack" && r.stack !== null) go({ selected: r === opened ? null : String(r.longest_row) });
    else if (r.longest_row !== null) go({ event: `ops/${r.longest_row}` });
  };
  return (
    <>
      <Table name="operators" noun={group === "category" ? "category" : "operator"} nouns={group === "category" ? "categories" : "operators"}
        columns={columns} rows={result.rows} rowKey={(r) => keyOf(r, group)}
        sort={sort} defaultSort={device ? "-device_self_ns" : "-host_self_ns"} filter={filter} selected={opened ?? drilled ? keyOf((opened ?? drilled) as OperatorRow, group) : null}
        inferred={result.provenance.timeline === "inferred"}
        onOpen={open} onSort={(s) => go({ sort: s })} onFilter={(f) => go({ filter: f }, "replace")}>
        <Segmented label="Group by" value={group} onPick={(g) => go({ group: g === "name" ? null : g, selected: null })}
          choices={GROUPS.map((g) => ({ value: g.value, label: g.label, disabled: g.needs !== null && !result[g.needs], title: g.needs === null || result[g.needs] ? g.title : g.without }))} />
        <Notes result={result} />
      </Table>
      {opened?.stack && <StackPanel title={`${opened.name ?? ""}, ${plural(opened.calls, "call")}`} stack={opened.stack} row={opened.longest_row} close={() => go({ selected: null })} />}
      {drilled && drilled.longest_row !== null && (
        <InstancesPanel selected={place} of={{ view: "calls", index: drilled.longest_row, group }} name={drilled.name ?? ""} calls={drilled.calls} category="cpu" step={step} inferred={false} close={() => go({ selected: null })} />
      )}
    </>
  );
}

/** What the rows leave out, and what no operator launched. */
function Notes({ result }: { result: Result }) {
  const { others, unlinked_device_ns: lost } = result;
  return (
    <>
      {others !== null && (
        <span class="muted" data-testid="others" data-value={others.rows} title="Sums of the rows are less than those of the trace by these. The filter's first word is looked for in all.">
          {count(others.rows)} others: {others.device_self_ns === null ? `${duration(others.host_self_ns)} on the host` : duration(others.device_self_ns)}
        </span>
      )}
      {lost !== null && lost > 0 && (
        <span class="muted" data-testid="unlinked" data-value={lost} title={`Device time of activities that no operator launched: ${exactDuration(lost)}. It has a row of its own.`}>
          {duration(lost)} ({percent(lost / whole(result))}) launched by no operator
        </span>
      )}
    </>
  );
}

function keyOf(row: OperatorRow, group: Group): string {
  if (row.name === null) return "unlinked";
  switch (group) {
    case "name": case "category": return row.name;
    case "shapes": return `${row.name} ${row.input_shapes ?? ""}`;
    case "module": return `${row.name} ${row.module ?? ""}`;
    case "stack": return `${row.name} ${row.longest_row ?? ""}`;
  }
}

/** All self time: of the device where there is any, of the host otherwise. */
function whole(result: Result): number {
  return result.device_self_ns === null ? result.host_self_ns : result.device_self_ns + (result.unlinked_device_ns ?? 0);
}

const NOBODY = "launched by no operator";

function columnsOf(result: Result, group: Group): Column<OperatorRow>[] {
  const device = result.device_self_ns !== null;
  const launched = result.rows.some((r) => r.launches !== null);
  const all = whole(result);
  const columns: (Column<OperatorRow> | false)[] = [
    { key: "name", title: group === "category" ? "Category" : "Operator", kind: "text", width: 216, help: HELP[group], value: (r) => r.name ?? NOBODY, cell: (r) => <Name row={r} group={group} /> },
    group !== "category" && { key: "category", title: "Category", kind: "text", width: 104, optional: true, help: "The kind of work, by the name.", value: (r) => (r.name === null ? null : r.category) },
    group === "shapes" && { key: "input_shapes", title: "Input shapes", kind: "text", width: 240, value: (r) => r.input_shapes },
    group === "module" && { key: "module", title: "Module", kind: "text", width: 200, help: "The innermost nn.Module; of backward operators that of the forward one.", value: (r) => r.module },
    group === "stack" && { key: "stack", title: "Called from", kind: "text", width: 280, help: "The innermost frame that is not torch's own; a row shows all.", value: (r) => r.stack,
      cell: (r) => <span class="value" title={r.stack?.replaceAll(";", "\n") ?? "no Python frames around"}>{ownFrame(r.stack)?.replace(/^.*\//, "") ?? "–"}</span> },
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
    { key: "calls", title: "Calls", kind: "count", width: 76, additive: true, help: "The link shows them, one by one.", value: (r) => r.calls,
      cell: (r) => (r.longest_row === null ? <span class="value">{count(r.calls)}</span> : <a class="value" data-testid="drill" {...linkProps({ selected: `calls:${r.longest_row}` })} title="Show them, one by one">{count(r.calls)}</a>) },
    device && { key: "kernels", title: "Kernels", kind: "count", width: 80, additive: true,
      help: "Device activities that the operator itself launched.", value: (r) => r.kernels },
    launched && { key: "launch_ns", title: "Launching", kind: "time", width: 88, additive: true, help: "The host's time in the calls of the device's runtime that the operator itself made.", value: (r) => r.launch_ns },
    launched && { key: "launches", title: "Launches", kind: "count", width: 80, additive: true, optional: true, help: "Calls of the device's runtime that the operator itself made.", value: (r) => r.launches },
    device && { key: "backward_device_ns", title: "Backward", kind: "time", width: 88, optional: true, help: "Device time of the backward operators of its calls.", value: (r) => r.backward_device_ns, bound: (r) => r.backward_bound_ns },
    { key: "forward", title: "Gradient of", kind: "text", width: 140, optional: true, help: "The forward operator whose gradient it computes.", value: (r) => r.forward,
      cell: (r) => (r.forward === null ? <span class="value muted">–</span> : <a class="value" {...linkProps({ group: null, filter: `name = ${quote(r.forward)}`, sort: null })}>{r.forward}</a>) },
  ];
  return columns.filter((c) => c !== false);
}

const HELP: Readonly<Record<Group, string>> = {
  name: "A row opens the record of its longest call.", shapes: "A row opens the record of its longest call.", module: "A row opens the record of its longest call.",
  stack: "A row shows its call stack.", category: "A row shows its operators.",
};

function Name({ row, group }: { row: OperatorRow; group: Group }) {
  if (row.name === null) return <a class="value" {...linkProps({ view: "kernels", filter: 'operator = ""' })} title="Device activities without a launch, or with one outside of all operators. Show them.">{NOBODY}</a>;
  if (!row.kernels || group === "category") return <span class="value">{row.name}</span>;
  return <a class="value" {...linkProps({ view: "kernels", filter: `operator = ${quote(row.name)}` })} title={`${row.name}\nShow its kernels`}>{row.name}</a>;
}
