// The tree of modules, or of annotations where no modules were recorded.
import { useMemo, useState } from "preact/hooks";
import type { ModuleRow, Modules as Result } from "../api";
import { count, duration, exactDuration, percent } from "../base/format";
import { joinNames } from "../base/names";
import { useView } from "../load";
import { go, state } from "../state";
import { Code } from "../widgets/code";
import type { Column } from "../widgets/columns";
import { Segmented } from "../widgets/segmented";
import { Table } from "../widgets/table";
import { linkProps } from "./link";
import { NoDeviceTimes } from "./nodevice";
import type { PageProps } from "./page";
import { Show } from "./status";

type Group = "instance" | "class";

export function Modules({ selected, base }: PageProps) {
  const group: Group = state.value.group === "class" ? "class" : "instance";
  const resource = useView("modules", selected, { group });
  return (
    <div class="fill">
      <Show resource={resource}>
        {(result) => (result.source === "none" ? <NoModules result={result} /> : (
          <>
            {base.provenance.timeline === "none" && <NoDeviceTimes overview={base} />}
            {result.source === "annotations" && <Annotations result={result} />}
            <ModuleTree key={group} result={result} group={group} />
          </>
        ))}
      </Show>
    </div>
  );
}

/** Rows of this depth and above are open at first, as long as the page can show them. */
const OPEN_DEPTH = 2;
const OPEN_ROWS = 60;

function ModuleTree({ result, group }: { result: Result; group: Group }) {
  const { rows } = result;
  const parents = useMemo(() => rows.map((r) => r.parent), [rows]);
  const [open, setOpen] = useState(() => openAtFirst(rows, state.value.selected));
  const tree = useMemo(() => ({
    parents,
    isOpen: (row: ModuleRow) => open.has(row.path),
    setOpen: (row: ModuleRow, now: boolean) => setOpen((before) => {
      const next = new Set(before);
      if (now) next.add(row.path);
      else next.delete(row.path);
      return next;
    }),
  }), [parents, open]);
  const columns = useMemo(() => columnsOf(result, {
    places: placesOf(rows), isOpen: tree.isOpen, toggle: (row) => tree.setOpen(row, !tree.isOpen(row)),
  }), [result, tree]);
  const { filter, sort, selected } = state.value;
  const device = result.device_ns !== null;
  const noun = result.source === "modules" ? "module" : "annotation";
  return (
    <Table name="modules" noun={noun} columns={columns} rows={rows} rowKey={(r) => r.path} tree={tree}
      sort={sort} defaultSort={device ? "-share" : "-host_total_ns"} filter={filter} selected={selected}
      inferred={result.provenance.timeline === "inferred"}
      onOpen={(r) => go({ selected: r.path === selected ? null : r.path }, "replace")}
      onSort={(s) => go({ sort: s })} onFilter={(f) => go({ filter: f }, "replace")}>
      {result.source === "modules" && <Segmented label="Rows" value={group} onPick={(g) => go({ group: g === "instance" ? null : g, selected: null })} choices={[
        { value: "instance", label: "Modules", title: "A row per module" },
        { value: "class", label: "Classes", title: "One row for all modules of a class at the same place, as the layers of a transformer" },
      ]} />}
      <span class="segmented">
        <button type="button" data-testid="open-all" onClick={() => setOpen(new Set(rows.map((r) => r.path)))} title="Show all rows">Expand</button>
        <button type="button" data-testid="close-all" onClick={() => setOpen(new Set())} title="Show the outermost rows only">Collapse</button>
      </span>
      {result.outside_device_ns !== null && result.outside_device_ns > 0 && result.device_ns !== null && (
        <span class="muted" data-testid="outside" data-value={result.outside_device_ns}
          title={`Device time of the optimizer, of gradient reduction, and of all else that no ${noun} has: ${exactDuration(result.outside_device_ns)}. In no row.`}>
          {duration(result.outside_device_ns)} ({percent(result.outside_device_ns / result.device_ns)}) outside all {noun}s
        </span>
      )}
    </Table>
  );
}

function openAtFirst(rows: readonly ModuleRow[], selected: string | null): Set<string> {
  const open = new Set<string>();
  for (let depth = 0; depth < OPEN_DEPTH; depth += 1) {
    if (rows.filter((r) => r.depth <= depth + 1).length > OPEN_ROWS) break;
    for (const row of rows) if (row.depth === depth) open.add(row.path);
  }
  let at = rows.find((r) => r.path === selected)?.parent ?? null;
  while (at !== null) {
    const row: ModuleRow | undefined = rows[at];
    if (!row) break;
    open.add(row.path);
    at = row.parent;
  }
  return open;
}

/** Where a row is: the names from the outermost on, and whether there are rows inside. */
interface Place {
  names: readonly string[];
  inner: boolean;
}

function placesOf(rows: readonly ModuleRow[]): Map<ModuleRow, Place> {
  const inner = new Set(rows.map((r) => r.parent));
  const names: (readonly string[])[] = [];
  rows.forEach((row) => names.push([...(row.parent === null ? [] : (names[row.parent] ?? [])), row.name]));
  return new Map(rows.map((row, i) => [row, { names: names[i] ?? [], inner: inner.has(i) }]));
}

interface Handles {
  places: ReadonlyMap<ModuleRow, Place>;
  isOpen: (row: ModuleRow) => boolean;
  toggle: (row: ModuleRow) => void;
}

/** The bound of both passes with all inside: none of its parts is farther off. */
const ofAll = (row: ModuleRow): number | null => row.device_bound_ns;

function columnsOf(result: Result, handles: Handles): Column<ModuleRow>[] {
  const device = result.device_ns !== null;
  const trains = result.rows.some((r) => r.backward_host_ns > 0);
  const all = result.device_ns || 1;
  const columns: (Column<ModuleRow> | false)[] = [
    { key: "name", title: result.source === "modules" ? "Module" : "Annotation", kind: "text", width: 300, value: (r) => r.name,
      cell: (r) => <Name row={r} handles={handles} /> },
    { key: "share", title: "Share", kind: "share", width: 132, value: (r) => r.share, bar: () => (device ? "kernel" : "cpu"),
      help: device ? `Of all device time${trains ? ", forward and backward" : ""}.` : "Of the host time of all outermost rows.",
      bound: (r) => (!device ? 0 : r.device_bound_ns === null ? null : r.device_bound_ns / all) },
    device && { key: "device_total_ns", title: "Device total", kind: "time", width: 98,
      help: `What it and the modules inside launched${trains ? " in the forward pass" : ""}.`, value: (r) => r.device_total_ns, bound: ofAll },
    device && { key: "device_self_ns", title: "Device self", kind: "time", width: 92, additive: true,
      help: "Without the modules inside.", value: (r) => r.device_self_ns, bound: ofAll },
    device && trains && { key: "backward_device_ns", title: "Backward", kind: "time", width: 92,
      help: "Device time of the backward pass of its operators.", value: (r) => r.backward_device_ns, bound: ofAll },
    { key: "host_total_ns", title: "Host total", kind: "time", width: 88, help: "From call to return.", value: (r) => r.host_total_ns },
    { key: "host_self_ns", title: "Host self", kind: "time", width: 88, additive: true, help: "Without the modules inside.", value: (r) => r.host_self_ns },
    trains && { key: "backward_host_ns", title: "Host backward", kind: "time", width: 112,
      help: "Host time of the backward pass of its operators.", value: (r) => r.backward_host_ns },
    { key: "calls", title: "Calls", kind: "count", width: 68, help: "The link finds them in the timeline.", value: (r) => r.calls,
      cell: (r) => <a class="value" data-testid="module-timeline" {...linkProps({ view: "timeline", find: result.source === "modules" ? `nn.Module: ${r.name}` : r.name })} title="Find them in the timeline">{count(r.calls)}</a> },
    device && { key: "kernels", title: "Kernels", kind: "count", width: 76, help: "Device activities in both passes, those of the modules inside too.", value: (r) => r.kernels },
  ];
  return columns.filter((c) => c !== false);
}

function Name({ row, handles }: { row: ModuleRow; handles: Handles }) {
  const open = handles.isOpen(row);
  const place = handles.places.get(row);
  return (
    <span class="value treename" style={{ paddingLeft: `${Math.min(row.depth, 16) * 14}px` }}>
      {place?.inner
        ? <button type="button" class="twist" tabIndex={-1} aria-label={open ? `Close ${row.name}` : `Open ${row.name}`} data-testid="twist"
            onClick={(e) => { e.stopPropagation(); handles.toggle(row); }}>{open ? "▾" : "▸"}</button>
        : <span class="twist" />}
      <a {...linkProps({ view: "flame", levels: "modules", group: state.value.group, zoom: joinNames(place?.names ?? []) })} title={`${row.path}\nShow it in the flame graph`}>{row.name}</a>
      {row.instances > 1 && <span class="muted"> × {count(row.instances)}</span>}
    </span>
  );
}

function Annotations({ result }: { result: Result }) {
  return (
    <aside class="notice" data-kind="host_only" data-testid="annotations">
      <p><b>This trace holds no modules.</b> The rows are the ranges of <code>record_function</code> instead.{" "}
        {!result.stacks && <>Record with <code>with_stack=True</code> to see the modules.</>}</p>
    </aside>
  );
}

const CAPTURE = `from tb_privateuse1 import capture
with capture.profile(with_stack=True,   # Python frames, and with them the calls of nn.Modules
                     on_trace_ready=capture.tensorboard_trace_handler("./log")) as prof:
    ...  # your steps, each followed by prof.step()`;

function NoModules({ result }: { result: Result }) {
  return (
    <section class="state" data-testid="no-modules" data-stacks={result.stacks}>
      <h2>This trace holds no modules</h2>
      {result.stacks
        ? <p>Python frames were recorded, but no nn.Module was called within. Compiled and replayed graphs run without them. The <a {...linkProps({ view: "flame" })}>flame graph</a> shows the frames.</p>
        : <><p>torch records calls of nn.Modules with the Python stack. These lines do:</p><Code text={CAPTURE} />
            <p class="muted">Ranges of <code>torch.profiler.record_function</code> would be shown here as well.</p></>}
    </section>
  );
}
