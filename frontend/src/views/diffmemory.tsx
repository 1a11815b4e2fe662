// Memory of two traces on the diff page: figures of each device, and what operators allocate.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Diff, DiffAllocator, DiffMemory } from "../api";
import { bytes, count, percent, signedBytes } from "../base/format";
import type { Column } from "../widgets/columns";
import { Figure } from "../widgets/figure";
import { Table } from "../widgets/table";

export const MEMORY_WORDS: Readonly<Record<DiffMemory["verdict"], string>> = {
  more: "more", less: "less", within_noise: "within noise", same: "no change", unknown: "not certain",
};

const NAMES: Readonly<Record<DiffMemory["name"], { title: string; help: string }>> = {
  peak: { title: "Peak", help: "The most that is allocated during a step, on average." },
  peak_reserved: { title: "Peak reserved", help: "The most that the allocator holds during a step, on average." },
  at_end: { title: "At its end", help: "What is allocated when a step ends, on average." },
  growth: { title: "Growth per step", help: "What is allocated at the end of a step, less that of the step before, on average." },
  allocated: { title: "Allocated per step", help: "The sum of a step's allocations, on average." },
  allocations: { title: "Allocations per step", help: "How many there are, on average." },
  recording_peak: { title: "Peak of the recording", help: "The most that is allocated at any time; one value each, so that nothing tells chance apart." },
};

/** Allocations are a mean: a fraction may be left. */
const some = (n: number): string => (Number.isInteger(n) ? count(n) : n.toLocaleString("en-US", { maximumFractionDigits: 1 }));
const told = (unit: DiffMemory["unit"], n: number | null): string => (n === null || unit === "bytes" ? bytes(n) : some(n));
const signed = (unit: DiffMemory["unit"], n: number | null): string => (n === null || unit === "bytes" ? signedBytes(n) : `${n < 0 ? "−" : n > 0 ? "+" : ""}${some(Math.abs(n))}`);

type Shared = Pick<Parameters<typeof Table<DiffAllocator>>[0], "sort" | "filter" | "onSort" | "onFilter">;

/** The peak of the first device that is told of, accelerators first. */
export function PeakFigure({ result }: { result: Diff }) {
  const peak = result.memory.find((f) => f.name === "peak");
  if (!peak) return null;
  return (
    <Figure name="change_peak_bytes" label={`Peak of ${peak.device}`} value={peak.change === null ? bytes(peak.now ?? peak.base) : signedBytes(peak.change)} exact={peak.change} unit="B"
      help="The change of the most that is allocated during a step, on average."
      note={peak.change === null ? `only ${peak.now === null ? "the base" : "what is compared"} tells it` : `${bytes(peak.base)} → ${bytes(peak.now)}, ${MEMORY_WORDS[peak.verdict]}`} />
  );
}

export function MemoryDiff({ result, shared, children }: { result: Diff; shared: Shared; children: ComponentChildren }) {
  const [sort, setSort] = useState<string | null>(null);
  const [filter, setFilter] = useState<string | null>(null);
  if (result.memory.length === 0) return (
    <>
      <div class="toolbar">{children}</div>
      <p class="muted" data-testid="no-memory-diff">Neither trace has memory events: record with <code>profile_memory=True</code>.</p>
    </>
  );
  return (
    <>
      <div class="steptable" style={{ "--rows": Math.min(9, result.memory.length + (result.memory.length > 1 ? 2 : 1)) }}>
        <Table name="diff-memory" noun="figure" columns={FIGURES} rows={result.memory} rowKey={(r) => `${r.device} ${r.name}`} sort={sort} filter={filter} defaultSort="" onSort={setSort} onFilter={setFilter}>{children}</Table>
      </div>
      <div class="fill"><Table {...shared} name="diff-allocators" noun="operator" columns={ALLOCATORS} rows={result.allocators} rowKey={(r) => `${r.device} ${r.name}`} defaultSort="" /></div>
    </>
  );
}

const FIGURES: readonly Column<DiffMemory>[] = [
  { key: "name", title: "Figure", kind: "text", width: 168, value: (r) => NAMES[r.name].title, cell: (r) => <span class="value" title={NAMES[r.name].help}>{NAMES[r.name].title}</span> },
  { key: "device", title: "Device", kind: "text", width: 140, value: (r) => r.device },
  { key: "base", title: "Base", kind: "bytes", width: 96, help: "Of the base, per step.", value: (r) => r.base, cell: (r) => <span class="value">{told(r.unit, r.base)}</span> },
  { key: "now", title: "Now", kind: "bytes", width: 96, help: "The same of what is compared.", value: (r) => r.now, cell: (r) => <span class="value">{told(r.unit, r.now)}</span> },
  { key: "change", title: "Change", kind: "bytes", width: 104, help: "Now less base.", value: (r) => r.change, cell: (r) => <span class={r.verdict === "more" || r.verdict === "less" ? "value" : "value muted"}>{signed(r.unit, r.change)}</span> },
  { key: "change_share", title: "Relative", kind: "share", width: 84, help: "The change as a share of the base.", value: (r) => r.change_share },
  { key: "verdict", title: "Certainty", kind: "text", width: 120, help: "Whether the change is more than the spread of steps (99 %).", value: (r) => MEMORY_WORDS[r.verdict] },
  { key: "noise", title: "± Noise", kind: "bytes", width: 92, help: "How far off the change may be by the spread over steps.", value: (r) => r.noise, cell: (r) => <span class="value">{told(r.unit, r.noise)}</span> },
];

const STATUS: Readonly<Record<DiffAllocator["status"], string>> = { both: "", new: "new", gone: "gone" };

const ALLOCATORS: readonly Column<DiffAllocator>[] = [
  { key: "name", title: "Operator", kind: "text", width: 220, help: "The innermost operator around an allocation that does not only allocate.", value: (r) => r.name },
  { key: "device", title: "Device", kind: "text", width: 100, value: (r) => r.device },
  { key: "status", title: "", kind: "text", width: 52, help: "Whether only one of the two has it.", value: (r) => STATUS[r.status], cell: (r) => <span class={`status ${r.status}`}>{STATUS[r.status]}</span> },
  { key: "base_bytes", title: "Base", kind: "bytes", width: 92, additive: true, help: "What it allocates per step in the base.", value: (r) => r.base_bytes },
  { key: "now_bytes", title: "Now", kind: "bytes", width: 92, additive: true, help: "The same of what is compared.", value: (r) => r.now_bytes },
  { key: "change_bytes", title: "Change", kind: "bytes", width: 104, help: "Now less base.", value: (r) => r.change_bytes, cell: (r) => <span class={r.verdict === "more" || r.verdict === "less" ? "value" : "value muted"}>{signedBytes(r.change_bytes)}</span> },
  { key: "change_share", title: "Relative", kind: "share", width: 84, help: "The change as a share of the base.", value: (r) => r.change_share, cell: (r) => <span class="value">{percent(r.change_share)}</span> },
  { key: "verdict", title: "Certainty", kind: "text", width: 120, help: "Whether the change is more than the spread of steps (99 %).", value: (r) => MEMORY_WORDS[r.verdict] },
  { key: "noise_bytes", title: "± Noise", kind: "bytes", width: 92, help: "How far off the change may be by the spread over steps.", value: (r) => r.noise_bytes },
  { key: "base_allocations", title: "Base count", kind: "count", width: 84, help: "Allocations per step of the base.", value: (r) => r.base_allocations, cell: (r) => <span class="value">{some(r.base_allocations)}</span> },
  { key: "now_allocations", title: "Count", kind: "count", width: 68, help: "Allocations per step.", value: (r) => r.now_allocations, cell: (r) => <span class="value">{some(r.now_allocations)}</span> },
];
