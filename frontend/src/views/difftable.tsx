// The tables of the diff page: items of both traces, or their steps one beside the other.
import { useMemo, useState } from "preact/hooks";
import type { Diff as Result, DiffRow, DiffStep } from "../api";
import { quote } from "../base/filter";
import { count, signedDuration } from "../base/format";
import { go, state } from "../state";
import type { Column } from "../widgets/columns";
import { Segmented } from "../widgets/segmented";
import { Table } from "../widgets/table";
import { MemoryDiff } from "./diffmemory";
import { linkProps, type LinkProps } from "./link";
import { StepLink } from "./steplink";

export const KINDS = ["operators", "shapes", "kernels", "modules", "annotations"] as const;
export type By = (typeof KINDS)[number];
export type Shown = By | "steps" | "memory";

/** What may be said of a change. */
export const WORDS: Readonly<Record<DiffRow["verdict"], string>> = {
  longer: "longer", shorter: "shorter", within_noise: "within noise", within_bound: "within bounds", same: "no change", unknown: "not certain",
};

export function DiffTable({ result, shown }: { result: Result; shown: Shown }) {
  const { sort, filter } = state.value;
  const shared = {
    sort, filter, inferred: [result.provenance, result.base].some((p) => p.timeline === "inferred"),
    onSort: (s: string | null) => go({ sort: s }), onFilter: (f: string | null) => go({ filter: f }, "replace"),
  };
  const choice = (
    <>
      <Segmented label="Table" value={shown} onPick={(g) => go({ group: g === "operators" ? null : g, sort: null, filter: null })} choices={[
        { value: "operators", label: "Operators" }, { value: "shapes", label: "Shapes", title: "Operators by name and input shapes" },
        { value: "kernels", label: "Kernels" }, { value: "modules", label: "Modules" }, { value: "annotations", label: "Annotations", title: "Ranges of record_function" },
        { value: "memory", label: "Memory", title: "Of each device, and by the operators that allocate" },
        { value: "steps", label: "Steps", title: "The first of one beside the first of the other, and so on" },
      ]} />
      {shown !== "steps" && shown !== "memory" && shown !== "kernels" && (
        <Segmented label="Time" value={result.time} onPick={(t) => go({ by: t, sort: null })} choices={[
          { value: "device", label: "Device" }, { value: "host", label: "Host" },
        ]} />
      )}
    </>
  );
  if (shown === "steps") return (
    <Table {...shared} name="diff-steps" noun="step" columns={STEPS} rows={result.steps.map((s, i) => ({ ...s, number: i + 1 }))} rowKey={(s) => String(s.number)} defaultSort="number">{choice}</Table>
  );
  if (shown === "memory") return <MemoryDiff result={result} shared={shared}>{choice}</MemoryDiff>;
  const nested = result.rows.some((r) => r.parent !== null);
  return nested ? <Tree result={result} shared={shared}>{choice}</Tree> : (
    <Table {...shared} name="diff" noun={NOUNS[result.by]} columns={columnsOf(result, null)} rows={result.rows} rowKey={keyOf} defaultSort="">{choice}</Table>
  );
}

const NOUNS = { operators: "operator", shapes: "operator", kernels: "kernel", modules: "module", annotations: "annotation" } as const;
const keyOf = (r: DiffRow): string => `${r.name} ${r.detail ?? ""}`.trim();

interface TreeProps {
  result: Result;
  shared: Pick<Parameters<typeof Table<DiffRow>>[0], "sort" | "filter" | "inferred" | "onSort" | "onFilter">;
  children: preact.ComponentChildren;
}

/** Modules and annotations with what is inside; rows on the way to the largest changes are open. */
function Tree({ result, shared, children }: TreeProps) {
  const { rows } = result;
  const [open, setOpen] = useState(() => openAtFirst(rows));
  const parents = useMemo(() => rows.map((r) => r.parent), [rows]);
  const tree = useMemo(() => ({
    parents,
    isOpen: (row: DiffRow) => open.has(row.name),
    setOpen: (row: DiffRow, now: boolean) => setOpen((before) => {
      const next = new Set(before);
      if (now) next.add(row.name);
      else next.delete(row.name);
      return next;
    }),
  }), [parents, open]);
  const columns = useMemo(() => {
    const inner = new Set(parents);
    const places = new Map(rows.map((row, i): [DiffRow, Place] => [row, { depth: depthOf(rows, row), inner: inner.has(i), around: rows[row.parent ?? -1]?.name ?? null }]));
    return columnsOf(result, { places, isOpen: tree.isOpen, toggle: (row) => tree.setOpen(row, !tree.isOpen(row)) });
  }, [result, tree]);
  return <Table {...shared} name="diff" noun={NOUNS[result.by]} columns={columns} rows={rows} rowKey={keyOf} defaultSort="" tree={tree}>{children}</Table>;
}

const OPEN_FOR = 12;

function openAtFirst(rows: readonly DiffRow[]): Set<string> {
  const open = new Set<string>();
  for (const row of rows.slice(0, OPEN_FOR)) {
    for (let at = row.parent; at !== null; at = rows[at]?.parent ?? null) open.add(rows[at]?.name ?? "");
  }
  return open;
}

function depthOf(rows: readonly DiffRow[], row: DiffRow): number {
  let depth = 0;
  for (let at = row.parent; at !== null; at = rows[at]?.parent ?? null) depth += 1;
  return depth;
}

interface Place {
  depth: number;
  inner: boolean;
  /** The path of the row around it. */
  around: string | null;
}

interface Handles {
  places: ReadonlyMap<DiffRow, Place>;
  isOpen: (row: DiffRow) => boolean;
  toggle: (row: DiffRow) => void;
}

const STATUS: Readonly<Record<DiffRow["status"], string>> = { both: "", new: "new", gone: "gone" };

function change<Row>(key: keyof Row & string, title: string, width: number, help: string, unsure: (row: Row) => boolean = () => false): Column<Row> {
  const value = (row: Row): number | null => row[key] as number | null;
  return { key, title, kind: "time", width, help, value, cell: (row) => <span class={unsure(row) ? "value muted" : "value"}>{signedDuration(value(row))}</span> };
}

function columnsOf(result: Result, handles: Handles | null): Column<DiffRow>[] {
  const additive = handles === null;
  const host = result.rows.some((r) => r.host_change_ns !== null);
  const device = result.rows.some((r) => r.device_change_ns !== null);
  const columns: (Column<DiffRow> | false)[] = [
    { key: "name", title: NOUNS[result.by].replace(/^./, (c) => c.toUpperCase()), kind: "text", width: 260, value: (r) => r.name,
      cell: (r) => (handles ? <TreeName row={r} by={result.by} handles={handles} /> : <Name row={r} by={result.by} />) },
    result.by === "shapes" && { key: "detail", title: "Input shapes", kind: "text", width: 200, value: (r) => r.detail },
    result.by === "kernels" && { key: "detail", title: "Kind", kind: "text", width: 104, value: (r) => r.detail },
    { key: "status", title: "", kind: "text", width: 52, help: "Whether only one of the two has it.", value: (r) => STATUS[r.status], cell: (r) => <span class={`status ${r.status}`}>{STATUS[r.status]}</span> },
    { key: "base_ns", title: "Base", kind: "time", width: 84, additive, help: `${result.time === "device" ? "Device" : "Host"} time per step of the base.`, value: (r) => r.base_ns },
    { key: "now_ns", title: "Now", kind: "time", width: 84, additive, help: "The same of what is compared.", value: (r) => r.now_ns },
    { ...change<DiffRow>("change_ns", "Change", 92, "Now less base, per step.", (r) => r.verdict !== "longer" && r.verdict !== "shorter"), additive },
    { key: "change_share", title: "Relative", kind: "share", width: 84, help: "The change as a share of the base.", value: (r) => r.change_share },
    { key: "verdict", title: "Certainty", kind: "text", width: 132, help: "Whether the change is more than the spread of steps (99 %) and the error bounds of inferred times.", value: (r) => WORDS[r.verdict] },
    { key: "noise_ns", title: "± Noise", kind: "time", width: 80, help: "How far off the change may be by the spread over steps.", value: (r) => r.noise_ns },
    result.rows.some((r) => r.bound_ns !== 0) && { key: "bound_ns", title: "± Bound", kind: "time", width: 80, help: "How far off the change may be as device times are inferred.", value: (r) => r.bound_ns },
    device && result.time !== "device" && change<DiffRow>("device_change_ns", "Device change", 108, "The change of its device time per step."),
    host && result.time !== "host" && change<DiffRow>("host_change_ns", "Host change", 98, "The change of its host time per step."),
    { key: "base_calls", title: "Base calls", kind: "count", width: 84, help: "Per step.", value: (r) => r.base_calls, cell: (r) => <span class="value">{calls(r.base_calls)}</span> },
    { key: "now_calls", title: "Calls", kind: "count", width: 68, help: "Per step.", value: (r) => r.now_calls, cell: (r) => <span class="value">{calls(r.now_calls)}</span> },
  ];
  return columns.filter((c) => c !== false);
}

/** Leads to the page of what is compared, if it is there. */
export function linkOf(row: DiffRow, by: By): LinkProps | null {
  if (row.status === "gone" || row.now_calls === 0) return null;
  if (by === "annotations") return linkProps({ view: "timeline", find: lastOf(row.name) });
  if (by === "modules") return linkProps({ view: "modules", selected: row.name, filter: `name = ${quote(lastOf(row.name))}` });
  const view = by === "kernels" ? "kernels" : "operators";
  return linkProps({ view, group: by === "shapes" ? "shapes" : by === "kernels" ? "name" : null, filter: `name = ${quote(row.name)}` });
}

function Name({ row, by }: { row: DiffRow; by: By }) {
  const link = linkOf(row, by);
  return link ? <a class="value" {...link} title={row.name}>{row.name}</a> : <span class="value" title={row.name}>{row.name}</span>;
}

/** Of a path of modules the innermost. */
const lastOf = (path: string): string => path.slice(path.lastIndexOf(" / ") + 1).replace(/^\/ /, "");

/** Per step, so that it may be a fraction. */
const calls = (n: number): string => (Number.isInteger(n) ? count(n) : n.toPrecision(3));

function TreeName({ row, by, handles }: { row: DiffRow; by: By; handles: Handles }) {
  const place = handles.places.get(row);
  const open = handles.isOpen(row);
  const link = linkOf(row, by);
  const name = place?.around == null ? row.name : row.name.slice(place.around.length + 3);
  return (
    <span class="value treename" style={{ paddingLeft: `${Math.min(place?.depth ?? 0, 16) * 14}px` }} title={row.name}>
      {place?.inner
        ? <button type="button" class="twist" tabIndex={-1} aria-label={open ? `Close ${name}` : `Open ${name}`} data-testid="twist"
            onClick={(e) => { e.stopPropagation(); handles.toggle(row); }}>{open ? "▾" : "▸"}</button>
        : <span class="twist" />}
      {link ? <a {...link}>{name}</a> : name}
    </span>
  );
}

const STEPS: readonly Column<DiffStep & { number: number }>[] = [
  { key: "number", title: "", kind: "count", width: 60, value: (s) => s.number },
  { key: "base", title: "Base step", kind: "text", width: 160, value: (s) => s.base },
  { key: "now", title: "Step", kind: "text", width: 160, help: "The link shows it in the timeline.", value: (s) => s.now,
    cell: (s) => (s.now === null ? <span class="value muted">–</span> : <StepLink name={s.now}>{s.now}</StepLink>) },
  { key: "base_ns", title: "Base", kind: "time", width: 90, additive: true, value: (s) => s.base_ns },
  { key: "now_ns", title: "Now", kind: "time", width: 90, additive: true, value: (s) => s.now_ns },
  change("change_ns", "Change", 96, "Now less base."),
];
