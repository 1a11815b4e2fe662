// Memory of two traces on the diff page: key figures of each device, and allocations by operator.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Diff, DiffAllocator, DiffMemory } from "../../api/types";
import { bytes, count, percent, signedBytes } from "../../lib/format";
import { nameOf } from "../../state/selection";
import { t } from "../../i18n";
import type { Column } from "../../widgets/table/columns";
import { KeyFigure } from "../../widgets/controls/key-figure";
import { Table } from "../../widgets/table/table";

const texts = t.diffMemory;
const WORDS = texts.verdicts;
const NAMES = texts.figures;

/** Allocations are a mean: a fraction may be left. */
const some = (n: number): string =>
  Number.isInteger(n) ? count(n) : n.toLocaleString("en-US", { maximumFractionDigits: 1 });
const formatted = (unit: DiffMemory["unit"], n: number | null): string =>
  n === null || unit === "bytes" ? bytes(n) : some(n);
const signed = (unit: DiffMemory["unit"], n: number | null): string =>
  n === null || unit === "bytes" ? signedBytes(n) : `${n < 0 ? "−" : n > 0 ? "+" : ""}${some(Math.abs(n))}`;

type Shared = Pick<Parameters<typeof Table<DiffAllocator>>[0], "sort" | "filter" | "onSort" | "onFilter">;

/** The peak of the first device that is told of, accelerators first. */
export function PeakFigure({ result }: { result: Diff }) {
  const peak = result.memory.find((f) => f.name === "peak");
  if (!peak) return null;
  return (
    <KeyFigure
      name="change_peak_bytes"
      label={texts.peakOf(peak.device)}
      value={peak.change === null ? bytes(peak.now ?? peak.base) : signedBytes(peak.change)}
      exact={peak.change}
      unit="B"
      help={texts.peakHelp}
      note={
        peak.change === null
          ? peak.now === null
            ? texts.onlyBase
            : texts.onlyNow
          : texts.peakNote(bytes(peak.base), bytes(peak.now), WORDS[peak.verdict])
      }
    />
  );
}

export function MemoryDiff({
  result,
  shared,
  children,
}: {
  result: Diff;
  shared: Shared;
  children: ComponentChildren;
}) {
  const [sort, setSort] = useState<string | null>(null);
  const [filter, setFilter] = useState<string | null>(null);
  if (result.memory.length === 0)
    return (
      <>
        <div class="toolbar">{children}</div>
        <p class="muted" data-testid="no-memory-diff">
          {texts.none(<code>profile_memory=True</code>)}
        </p>
      </>
    );
  return (
    <>
      <div
        class="steptable"
        style={{ "--rows": Math.min(9, result.memory.length + (result.memory.length > 1 ? 2 : 1)) }}
      >
        <Table
          name="diff-memory"
          {...texts.figureNoun}
          columns={FIGURES}
          rows={result.memory}
          rowKey={(r) => `${r.device} ${r.name}`}
          sort={sort}
          filter={filter}
          defaultSort=""
          onSort={setSort}
          onFilter={setFilter}
        >
          {children}
        </Table>
      </div>
      <div class="fill">
        <Table
          {...shared}
          name="diff-allocators"
          {...texts.operatorNoun}
          columns={ALLOCATORS}
          rows={result.allocators}
          rowKey={(r) => `${r.device} ${r.name}`}
          defaultSort=""
        />
      </div>
    </>
  );
}

const FIGURES: readonly Column<DiffMemory>[] = [
  {
    key: "name",
    title: texts.figure,
    kind: "text",
    width: 168,
    value: (r) => NAMES[r.name].title,
    code: (r) => r.name,
    cell: (r) => (
      <span class="value" title={NAMES[r.name].help}>
        {NAMES[r.name].title}
      </span>
    ),
  },
  { key: "device", title: texts.device, kind: "text", width: 140, value: (r) => r.device },
  {
    key: "base",
    ...texts.base,
    kind: "bytes",
    width: 96,
    value: (r) => r.base,
    cell: (r) => <span class="value">{formatted(r.unit, r.base)}</span>,
  },
  {
    key: "now",
    ...texts.now,
    kind: "bytes",
    width: 96,
    value: (r) => r.now,
    cell: (r) => <span class="value">{formatted(r.unit, r.now)}</span>,
  },
  {
    key: "change",
    ...texts.change,
    kind: "bytes",
    width: 104,
    value: (r) => r.change,
    cell: (r) => (
      <span class={r.verdict === "more" || r.verdict === "less" ? "value" : "value muted"}>
        {signed(r.unit, r.change)}
      </span>
    ),
  },
  { key: "change_share", ...texts.relative, kind: "share", width: 84, value: (r) => r.change_share },
  {
    key: "verdict",
    ...texts.certainty,
    kind: "text",
    width: 120,
    value: (r) => WORDS[r.verdict],
    code: (r) => r.verdict,
  },
  {
    key: "noise",
    ...texts.noise,
    kind: "bytes",
    width: 92,
    value: (r) => r.noise,
    cell: (r) => <span class="value">{formatted(r.unit, r.noise)}</span>,
  },
];

const STATUS = t.diff.statuses;

const ALLOCATORS: readonly Column<DiffAllocator>[] = [
  {
    key: "name",
    ...texts.operator,
    kind: "text",
    width: 220,
    value: (r) => nameOf(r.name),
    code: (r) => r.name,
  },
  { key: "device", title: texts.device, kind: "text", width: 100, value: (r) => r.device },
  {
    key: "status",
    title: "",
    kind: "text",
    width: 52,
    help: t.diffTables.statusHelp,
    value: (r) => STATUS[r.status],
    code: (r) => r.status,
    cell: (r) => <span class={`status ${r.status}`}>{STATUS[r.status]}</span>,
  },
  {
    key: "base_bytes",
    ...texts.allocatedBase,
    kind: "bytes",
    width: 92,
    additive: true,
    value: (r) => r.base_bytes,
  },
  { key: "now_bytes", ...texts.now, kind: "bytes", width: 92, additive: true, value: (r) => r.now_bytes },
  {
    key: "change_bytes",
    ...texts.change,
    kind: "bytes",
    width: 104,
    value: (r) => r.change_bytes,
    cell: (r) => (
      <span class={r.verdict === "more" || r.verdict === "less" ? "value" : "value muted"}>
        {signedBytes(r.change_bytes)}
      </span>
    ),
  },
  {
    key: "change_share",
    ...texts.relative,
    kind: "share",
    width: 84,
    value: (r) => r.change_share,
    cell: (r) => <span class="value">{percent(r.change_share)}</span>,
  },
  {
    key: "verdict",
    ...texts.certainty,
    kind: "text",
    width: 120,
    value: (r) => WORDS[r.verdict],
    code: (r) => r.verdict,
  },
  { key: "noise_bytes", ...texts.noise, kind: "bytes", width: 92, value: (r) => r.noise_bytes },
  {
    key: "base_allocations",
    ...texts.baseCount,
    kind: "count",
    width: 84,
    value: (r) => r.base_allocations,
    cell: (r) => <span class="value">{some(r.base_allocations)}</span>,
  },
  {
    key: "now_allocations",
    ...texts.count,
    kind: "count",
    width: 68,
    value: (r) => r.now_allocations,
    cell: (r) => <span class="value">{some(r.now_allocations)}</span>,
  },
];
