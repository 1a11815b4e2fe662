// Memory of two traces on the diff page: key figures of each device, and allocations by operator.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Diff, DiffAllocator, DiffMemory, Options } from "../../api/types";
import { bytes, count, signedBytes } from "../../lib/format";
import { nameOf } from "../../state/selection";
import { t } from "../../i18n";
import { compare } from "../../i18n/compare";
import { field, worded, type Column } from "../../widgets/table/columns";
import { KeyFigure } from "../../widgets/controls/key-figure";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { go, state } from "../../state/url";
import { aliveChanges, type Change, CHANGE_CHOICES } from "../shared/alive-changes";
import { RELATIVE } from "./relative";
import "../overview/verdict-line.css";

const texts = compare.diffMemory;
const WORDS = texts.verdicts;
const NAMES = texts.figures;
const changes = t.memoryChanges;

/** The option `alive_at` that the URL's key asks for. */
export const instantOf = (alive: string | null): Options["diff"]["alive_at"] & string =>
  alive === "peak" || alive === "end" ? alive : "none";

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
        <Details result={result} shared={shared} />
      </div>
    </>
  );
}

/** What operators allocate per step, or what is live at an instant of each. */
function Details({ result, shared }: { result: Diff; shared: Shared }) {
  const [by, setBy] = useState<Change>("change_functions");
  const instant = instantOf(state.value.alive);
  const choice = (
    <Segmented
      label={changes.shown}
      value={instant}
      onPick={(to) => go({ alive: to === "none" ? null : to, sort: null, filter: null })}
      choices={[
        { value: "none", ...changes.perStep },
        { value: "peak", ...changes.atPeak },
        { value: "end", ...changes.atEnd },
      ]}
    />
  );
  if (instant === "none")
    return (
      <Table
        {...shared}
        name="diff-allocators"
        {...texts.operatorNoun}
        columns={ALLOCATORS}
        rows={result.allocators}
        rowKey={(r) => `${r.device} ${r.name}`}
        defaultSort=""
      >
        {choice}
      </Table>
    );
  if (result.alive.length === 0)
    return (
      <>
        <div class="toolbar">{choice}</div>
        <p class="muted" data-testid="no-alive-diff">
          {changes.none}
        </p>
      </>
    );
  const children = (
    <>
      {choice}
      <Segmented label={changes.by} value={by} onPick={setBy} choices={CHANGE_CHOICES} />
    </>
  );
  return aliveChanges(result.alive, by, { ...shared, children });
}

const FIGURES: readonly Column<DiffMemory>[] = [
  worded("name", { title: texts.figure }, 168, (r) => NAMES[r.name].title, {
    cell: (r) => (
      <span class="value" title={NAMES[r.name].help}>
        {NAMES[r.name].title}
      </span>
    ),
  }),
  field("device", { title: texts.device }, "text", 140),
  field("base", texts.base, "bytes", 96, {
    cell: (r) => <span class="value">{formatted(r.unit, r.base)}</span>,
  }),
  field("now", texts.now, "bytes", 96, {
    cell: (r) => <span class="value">{formatted(r.unit, r.now)}</span>,
  }),
  field("change", texts.change, "bytes", 104, {
    cell: (r) => (
      <span class={r.verdict === "more" || r.verdict === "less" ? "value" : "value muted"}>
        {signed(r.unit, r.change)}
      </span>
    ),
  }),
  field("change_share", texts.relative, "share", 84, RELATIVE),
  worded("verdict", texts.certainty, 120, (r) => WORDS[r.verdict]),
  field("noise", texts.noise, "bytes", 92, {
    cell: (r) => <span class="value">{formatted(r.unit, r.noise)}</span>,
  }),
];

const STATUS = compare.diff.statuses;

const ALLOCATORS: readonly Column<DiffAllocator>[] = [
  worded("name", texts.operator, 220, (r) => nameOf(r.name)),
  field("device", { title: texts.device }, "text", 100),
  worded("status", { title: "" }, 52, (r) => STATUS[r.status], {
    help: compare.diffTables.statusHelp,
    cell: (r) => <span class={`diff-status ${r.status}`}>{STATUS[r.status]}</span>,
  }),
  field("base_bytes", texts.allocatedBase, "bytes", 92, { additive: true }),
  field("now_bytes", texts.now, "bytes", 92, { additive: true }),
  field("change_bytes", texts.change, "bytes", 104, {
    cell: (r) => (
      <span class={r.verdict === "more" || r.verdict === "less" ? "value" : "value muted"}>
        {signedBytes(r.change_bytes)}
      </span>
    ),
  }),
  field("change_share", texts.relative, "share", 84, RELATIVE),
  worded("verdict", texts.certainty, 120, (r) => WORDS[r.verdict]),
  field("noise_bytes", texts.noise, "bytes", 92),
  field("base_allocations", texts.baseCount, "count", 84, {
    cell: (r) => <span class="value">{some(r.base_allocations)}</span>,
  }),
  field("now_allocations", texts.count, "count", 68, {
    cell: (r) => <span class="value">{some(r.now_allocations)}</span>,
  }),
];
