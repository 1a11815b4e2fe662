// The tables below the memory chart, one at a time: alive at the peak, operators, allocations, steps.
import { useMemo } from "preact/hooks";
import type { AliveRow, Allocation, MemoryCategory, MemoryOperator, MemoryStep, MemoryUse } from "../api";
import { quote } from "../base/filter";
import { count, duration, signedBytes } from "../base/format";
import { ownFrame } from "../base/frames";
import { stepNumber } from "../place";
import { go, state } from "../state";
import type { Column } from "../widgets/columns";
import { Segmented } from "../widgets/segmented";
import { Table } from "../widgets/table";
import { linkProps, stretch } from "./link";
import { CATEGORIES } from "./memorycategories";
import { StepLink } from "./steplink";

/** When a row was alive, within the chart. */
export interface Life {
  key: string;
  start: number;
  end: number;
}

interface TablesProps {
  result: MemoryUse;
  onAll: () => void;
  life: Life | null;
  onLife: (life: Life | null) => void;
}

const TABS = ["alive", "categories", "operators", "allocations", "steps"] as const;
type Tab = (typeof TABS)[number];

export function MemoryTables({ result, onAll, life, onLife }: TablesProps) {
  // Without totals nothing is known of a step's peak and end.
  const steps = useMemo(() => STEPS.filter((c) => result.basis === "allocated" || !TOTALS.has(c.key)), [result.basis]);
  const first: Tab = result.alive.length > 0 ? "alive" : "operators";
  const { group, sort, filter } = state.value;
  const tab: Tab = TABS.find((t) => t === group) ?? first;
  const common = {
    sort, filter,
    onSort: (s: string | null) => go({ sort: s }),
    onFilter: (f: string | null) => go({ filter: f }, "replace"),
    children: (
      <Segmented label="Table" value={tab} onPick={(t) => go({ group: t === first ? null : t, sort: null, filter: null })} choices={[
        { value: "alive", label: "Alive at the peak", disabled: result.alive.length === 0, title: result.alive.length === 0 ? "Needs totals and addresses, which the trace does not have." : "Who allocated what was alive at the peak" },
        { value: "categories", label: "By category", disabled: result.categories.length === 0, title: result.categories.length === 0 ? "Needs totals and addresses, which the trace does not have." : "Parameters, gradients, optimizer state, activations, inputs, temporaries" },
        { value: "operators", label: "By operator" },
        { value: "allocations", label: `Allocations ${count(result.allocations)}` },
        { value: "steps", label: "By step", disabled: result.steps.length === 0, title: result.steps.length === 0 ? "The trace has no steps." : "Growth per step" },
      ]} />
    ),
  };
  switch (tab) {
    case "alive": return <Table {...common} name="alive" noun="group" columns={ALIVE} rows={result.alive} rowKey={(r) => `${r.source} ${r.operator ?? ""} ${r.input_shapes ?? ""}`} defaultSort="-bytes"
      onOpen={(r) => toAllocations(r.source === "earlier" ? 'fate = "earlier"' : r.source === "unexplained" ? null : `operator = ${quote(r.operator ?? "")}`)} />;
    case "categories": return (
      <Table {...common} name="memory-categories" noun="category" nouns="categories" columns={KINDS} rows={result.categories} rowKey={(r) => r.category} defaultSort="-at_peak_bytes"
        onOpen={(r) => toAllocations(`category = ${quote(r.category)}`)} />
    );
    case "operators": return <Table {...common} name="memory-operators" noun="operator" columns={OPERATORS} rows={result.operators} rowKey={(r) => r.operator ?? ""} defaultSort="-self_allocated_bytes"
      onOpen={(r) => toAllocations(`operator = ${quote(r.operator ?? "")}`)} />;
    case "steps": return (
      <Table {...common} name="memory-steps" noun="step" columns={steps} rows={result.steps} rowKey={(s) => s.name} defaultSort="start_ns"
        selected={result.steps.find((s) => stepNumber(s.name) === state.value.step)?.name ?? null}
        onOpen={(s) => go({ step: stepNumber(s.name) === state.value.step ? null : stepNumber(s.name) })} />
    );
    case "allocations": return <Allocations result={result} onAll={onAll} life={life} onLife={onLife} common={common} />;
  }
}

/** The allocations that a row of another table is made of. */
const toAllocations = (filter: string | null): void => go({ group: "allocations", sort: null, filter });

type Common = Pick<Parameters<typeof Table>[0], "sort" | "filter" | "onSort" | "onFilter" | "children">;

function Allocations({ result, onAll, life, onLife, common }: TablesProps & { common: Common }) {
  const rows = useMemo(() => result.rows.map((row, i) => ({ ...row, key: `${row.allocated_ns ?? ""}-${row.freed_ns ?? ""}-${row.bytes}-${i}` })), [result]);
  const stacks = rows.some((r) => r.stack !== null);
  const end = result.window?.end_ns ?? 0;
  const columns = useMemo(() => allocationColumns(end).filter((c) => stacks || c.key !== "stack"), [stacks, end]);
  const pick = (row: (typeof rows)[number]): void => onLife(life?.key === row.key ? null : { key: row.key, ...lifeOf(row, result) });
  return (
    <Table {...common} name="allocations" noun="allocation" columns={columns} rows={rows} rowKey={(r) => r.key} defaultSort="-bytes"
      selected={life?.key ?? null} onOpen={pick}>
      {common.children}
      {rows.length < result.allocations && (
        <span class="muted">the largest of {count(result.allocations)} <button type="button" class="link" data-testid="all-allocations" onClick={onAll}>show more</button></span>
      )}
    </Table>
  );
}

/** From its allocation, or the recording's start, to its release, or the recording's end. */
function lifeOf(row: Allocation, { window }: MemoryUse): { start: number; end: number } {
  const [first, last] = [window?.start_ns ?? 0, window?.end_ns ?? 0];
  const start = row.allocated_ns ?? (row.fate === "earlier" ? first : (row.freed_ns ?? first));
  return { start, end: row.freed_ns ?? (row.fate === "held" ? last : start) };
}

const FATES: Readonly<Record<Allocation["fate"], string>> = {
  released: "",
  held: "Not released within the recording. That alone is no leak.",
  unreported: "Its address was allocated again: it was released, but that was not reported.",
  unknown: "The trace has no addresses, so its release is not known.",
  earlier: "Allocated before the recording.",
  unseen: "Released here, but its allocation was not reported.",
};

const SOURCES: Readonly<Record<AliveRow["source"], { label: string; title: string }>> = {
  operator: { label: "outside of all operators", title: "Allocated in the recording, while no operator ran." },
  earlier: { label: "allocated before the recording", title: "What was alive at the start and was not released until the peak: parameters and what else lasts." },
  unexplained: { label: "not explained by events", title: "The total that the allocator reported, less all of the above. Negative if releases were not reported." },
};

/** The name of an operator as a link to its row in the operators page; or why there is none. */
function Operator({ name, none, title, note = null }: { name: string | null; none: string; title: string; note?: string | null }) {
  if (name === null) return <span class="value muted" title={title}>{none}</span>;
  return <span class="value" title={note ? `${name} (${note})` : name}><a {...linkProps({ view: "operators", filter: `name = ${quote(name)}` })}>{name}</a>{note && <span class="muted"> {note}</span>}</span>;
}

const ALIVE: readonly Column<AliveRow>[] = [
  { key: "operator", title: "Allocated by", kind: "text", width: 260, help: "The innermost operator that does not only allocate.",
    value: (r) => r.operator ?? SOURCES[r.source].label, cell: (r) => <Operator name={r.operator} none={SOURCES[r.source].label} title={SOURCES[r.source].title} /> },
  { key: "input_shapes", title: "Input shapes", kind: "text", width: 320, value: (r) => r.input_shapes },
  { key: "share", title: "Share of peak", kind: "share", width: 160, additive: true, value: (r) => r.share, bar: (r) => (r.source === "operator" ? "kernel" : "other") },
  { key: "bytes", title: "Size", kind: "bytes", width: 96, additive: true, value: (r) => r.bytes },
  { key: "allocations", title: "Allocations", kind: "count", width: 96, additive: true, value: (r) => r.allocations },
];

const KINDS: readonly Column<MemoryCategory>[] = [
  { key: "category", title: "Category", kind: "text", width: 200, value: (r) => r.category,
    cell: (r) => <span class="value" title={CATEGORIES[r.category].title}><i class="swatch" style={{ "--fill": CATEGORIES[r.category].fill }} />{CATEGORIES[r.category].label}</span> },
  { key: "at_peak_bytes", title: "At the peak", kind: "bytes", width: 104, additive: true, help: "Alive at the peak of all memory.", value: (r) => r.at_peak_bytes },
  { key: "share", title: "Share of peak", kind: "share", width: 160, additive: true, value: (r) => r.share, bar: () => "kernel" },
  { key: "peak_bytes", title: "Own peak", kind: "bytes", width: 96, help: "The most of this category at any time.", value: (r) => r.peak_bytes },
  { key: "peak_at_ns", title: "Own peak at", kind: "time", width: 104, value: (r) => r.peak_at_ns },
  { key: "at_start_bytes", title: "At the start", kind: "bytes", width: 104, additive: true, value: (r) => r.at_start_bytes },
  { key: "at_end_bytes", title: "At the end", kind: "bytes", width: 104, additive: true, value: (r) => r.at_end_bytes },
  { key: "allocated_bytes", title: "Allocated", kind: "bytes", width: 96, additive: true, help: "Sum of the allocations in the selected part.", value: (r) => r.allocated_bytes },
  { key: "allocations", title: "Allocations", kind: "count", width: 96, additive: true, value: (r) => r.allocations },
];

const OPERATORS: readonly Column<MemoryOperator>[] = [
  { key: "operator", title: "Operator", kind: "text", width: 240, value: (r) => r.operator,
    cell: (r) => <Operator name={r.operator} none="outside of all operators" title="Mostly releases: a tensor's memory goes when Python lets go of it." /> },
  { key: "calls", title: "Calls", kind: "count", width: 72, value: (r) => r.calls },
  { key: "self_allocated_bytes", title: "Self allocated", kind: "bytes", width: 120, additive: true, help: "By the operator itself.", value: (r) => r.self_allocated_bytes },
  { key: "self_allocations", title: "Self count", kind: "count", width: 88, additive: true, help: "Allocations by the operator itself.", value: (r) => r.self_allocations },
  { key: "self_increase_bytes", title: "Self increase", kind: "bytes", width: 104, additive: true, help: "Allocated less released by the operator itself.", value: (r) => r.self_increase_bytes, cell: (r) => <span class="value">{signedBytes(r.self_increase_bytes)}</span> },
  { key: "allocated_bytes", title: "Allocated", kind: "bytes", width: 96, help: "With the operators that it called.", value: (r) => r.allocated_bytes },
  { key: "allocations", title: "Count", kind: "count", width: 80, help: "Allocations, with those of the operators that it called.", value: (r) => r.allocations },
  { key: "increase_bytes", title: "Increase", kind: "bytes", width: 96, help: "Allocated less released, with the operators that it called.", value: (r) => r.increase_bytes, cell: (r) => <span class="value">{signedBytes(r.increase_bytes)}</span> },
];

type Row = Allocation & { key: string };

/** What is shown before and after an allocation: an operator or two. */
const MOMENT_NS = 50_000;

const allocationColumns = (end: number): Column<Row>[] => [
  { key: "operator", title: "Allocated by", kind: "text", width: 220, help: "The innermost operator that does not only allocate.",
    value: (r) => r.operator, cell: (r) => <Operator name={r.operator} note={r.allocator} none={r.allocated_ns === null ? FATES[r.fate].replace(/[.:,].*/, "").toLowerCase() : "outside of all operators"} title={FATES[r.fate]} /> },
  { key: "input_shapes", title: "Input shapes", kind: "text", width: 200, value: (r) => r.input_shapes },
  { key: "bytes", title: "Size", kind: "bytes", width: 88, additive: true, value: (r) => r.bytes },
  { key: "allocated_ns", title: "Allocated at", kind: "time", width: 96, help: "Since the recording's start; the link shows what ran then in the timeline.", value: (r) => r.allocated_ns,
    cell: (r) => (r.allocated_ns === null ? <span class="value muted">–</span> : <a class="value" {...stretch(r.allocated_ns - MOMENT_NS, r.allocated_ns + MOMENT_NS, end)} data-testid="allocation-timeline" title="Show what ran then in the timeline">{duration(r.allocated_ns)}</a>) },
  { key: "freed_ns", title: "Released at", kind: "time", width: 104, help: "Since the recording's start.", value: (r) => r.freed_ns,
    cell: (r) => (r.freed_ns === null ? <span class="value muted" title={FATES[r.fate]}>{r.fate === "held" ? "held" : r.fate === "unknown" ? "–" : "unreported"}</span> : <span class="value">{duration(r.freed_ns)}</span>) },
  { key: "lifetime_ns", title: "Lifetime", kind: "time", width: 88, value: (r) => r.lifetime_ns },
  { key: "fate", title: "Fate", kind: "text", width: 88, help: "released, held, unreported, earlier, unseen or unknown.", value: (r) => r.fate,
    cell: (r) => <span class="value muted" title={FATES[r.fate] || r.fate}>{r.fate}</span> },
  { key: "category", title: "Category", kind: "text", width: 120, help: "What it is for, by rules.", value: (r) => r.category,
    cell: (r) => <span class="value" title={CATEGORIES[r.category].title}>{CATEGORIES[r.category].label}</span> },
  { key: "stack", title: "Python", kind: "text", width: 280, help: "The innermost frame that is not torch's own; all of them on hover.", value: (r) => r.stack,
    cell: (r) => <span class="value" title={r.stack?.replaceAll(";", "\n") ?? "no Python frames around"}>{ownFrame(r.stack)?.replace(/^.*\//, "") ?? "–"}</span> },
];

const STEPS: readonly Column<MemoryStep>[] = [
  { key: "name", title: "Step", kind: "text", width: 120, value: (s) => s.name,
    cell: (s) => <span class="value">{stepNumber(s.name) ?? s.name}{s.incomplete && <span class="warn"> cut off</span>}</span> },
  { key: "start_ns", title: "Start", kind: "time", width: 88, help: "The link shows the step in the timeline.", value: (s) => s.start_ns,
    cell: (s) => <StepLink name={s.name}>{duration(s.start_ns)}</StepLink> },
  { key: "peak_bytes", title: "Peak", kind: "bytes", width: 96, value: (s) => s.peak_bytes },
  { key: "at_end_bytes", title: "At its end", kind: "bytes", width: 96, value: (s) => s.at_end_bytes },
  { key: "change_bytes", title: "Change", kind: "bytes", width: 104, help: "At its end, against the end of the step before.", value: (s) => s.change_bytes, cell: (s) => <span class="value">{signedBytes(s.change_bytes)}</span> },
  { key: "allocated_bytes", title: "Allocated", kind: "bytes", width: 96, additive: true, help: "Sum of the step's allocations.", value: (s) => s.allocated_bytes },
  { key: "allocations", title: "Allocations", kind: "count", width: 96, additive: true, value: (s) => s.allocations },
];

const TOTALS: ReadonlySet<string> = new Set(["peak_bytes", "at_end_bytes", "change_bytes"]);
