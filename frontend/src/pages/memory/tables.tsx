// The tables below the memory chart, one at a time: alive at the peak, operators, allocations, steps.
import { useMemo } from "preact/hooks";
import type {
  AliveRow,
  Allocation,
  MemoryCategory,
  MemoryOperator,
  MemoryStep,
  MemoryUse,
} from "../../api/types";
import { quote } from "../../lib/filter";
import { duration, signedBytes } from "../../lib/format";
import { ownFrame } from "../../lib/python-stack";
import { nameOf, stepLabel, stepNumber } from "../../state/selection";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import type { Column } from "../../widgets/table/columns";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { linkProps, stretch } from "../../state/links";
import { CATEGORIES } from "./categories";
import { StepLink } from "../shared/step-link";

const texts = t.memoryTables;
const nouns = texts.nouns;

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
  const steps = useMemo(
    () => STEPS.filter((c) => result.basis === "allocated" || !TOTALS.has(c.key)),
    [result.basis],
  );
  const first: Tab = result.alive.length > 0 ? "alive" : "operators";
  const { group, sort, filter } = state.value;
  const tab: Tab = TABS.find((one) => one === group) ?? first;
  const common = {
    sort,
    filter,
    onSort: (s: string | null) => go({ sort: s }),
    onFilter: (f: string | null) => go({ filter: f }, "replace"),
    children: (
      <Segmented
        label={texts.table}
        value={tab}
        onPick={(to) => go({ group: to === first ? null : to, sort: null, filter: null })}
        choices={[
          {
            value: "alive",
            label: texts.alive,
            disabled: result.alive.length === 0,
            title: result.alive.length === 0 ? t.memory.needsAddresses : texts.aliveHelp,
          },
          {
            value: "categories",
            label: texts.byCategory,
            disabled: result.categories.length === 0,
            title: result.categories.length === 0 ? t.memory.needsAddresses : texts.byCategoryHelp,
          },
          { value: "operators", label: texts.byOperator },
          { value: "allocations", label: texts.allocations(result.allocations) },
          {
            value: "steps",
            label: texts.byStep,
            disabled: result.steps.length === 0,
            title: result.steps.length === 0 ? texts.noSteps : texts.byStepHelp,
          },
        ]}
      />
    ),
  };
  switch (tab) {
    case "alive":
      return (
        <Table
          {...common}
          name="alive"
          {...nouns.group}
          columns={ALIVE}
          rows={result.alive}
          rowKey={(r) => `${r.source} ${r.operator ?? ""} ${r.input_shapes ?? ""}`}
          defaultSort="-bytes"
          onOpen={(r) =>
            toAllocations(
              r.source === "earlier"
                ? 'fate = "earlier"'
                : r.source === "unexplained"
                  ? null
                  : `operator = ${quote(r.operator ?? "")}`,
            )
          }
        />
      );
    case "categories":
      return (
        <Table
          {...common}
          name="memory-categories"
          {...nouns.category}
          columns={KINDS}
          rows={result.categories}
          rowKey={(r) => r.category}
          defaultSort="-at_peak_bytes"
          onOpen={(r) => toAllocations(`category = ${quote(r.category)}`)}
        />
      );
    case "operators":
      return (
        <Table
          {...common}
          name="memory-operators"
          {...nouns.operator}
          columns={OPERATORS}
          rows={result.operators}
          rowKey={(r) => r.operator ?? ""}
          defaultSort="-self_allocated_bytes"
          onOpen={(r) => toAllocations(`operator = ${quote(r.operator ?? "")}`)}
        />
      );
    case "steps":
      return (
        <Table
          {...common}
          name="memory-steps"
          {...nouns.step}
          columns={steps}
          rows={result.steps}
          rowKey={(s) => s.name}
          defaultSort="start_ns"
          selected={result.steps.find((s) => stepNumber(s.name) === state.value.step)?.name ?? null}
          onOpen={(s) => go({ step: stepNumber(s.name) === state.value.step ? null : stepNumber(s.name) })}
        />
      );
    case "allocations":
      return <Allocations result={result} onAll={onAll} life={life} onLife={onLife} common={common} />;
  }
}

/** The allocations that a row of another table is made of. */
const toAllocations = (filter: string | null): void => go({ group: "allocations", sort: null, filter });

type Common = Pick<Parameters<typeof Table>[0], "sort" | "filter" | "onSort" | "onFilter" | "children">;

function Allocations({ result, onAll, life, onLife, common }: TablesProps & { common: Common }) {
  const rows = useMemo(
    () =>
      result.rows.map((row, i) => ({
        ...row,
        key: `${row.allocated_ns ?? ""}-${row.freed_ns ?? ""}-${row.bytes}-${i}`,
      })),
    [result],
  );
  const stacks = rows.some((r) => r.stack !== null);
  const end = result.window?.end_ns ?? 0;
  const columns = useMemo(
    () => allocationColumns(end).filter((c) => stacks || c.key !== "stack"),
    [stacks, end],
  );
  const pick = (row: (typeof rows)[number]): void =>
    onLife(life?.key === row.key ? null : { key: row.key, ...lifeOf(row, result) });
  return (
    <Table
      {...common}
      name="allocations"
      {...nouns.allocation}
      columns={columns}
      rows={rows}
      rowKey={(r) => r.key}
      defaultSort="-bytes"
      selected={life?.key ?? null}
      onOpen={pick}
    >
      {common.children}
      {rows.length < result.allocations && (
        <span class="muted">
          {texts.largestOf(result.allocations)}{" "}
          <button type="button" class="link" data-testid="all-allocations" onClick={onAll}>
            {texts.showMore}
          </button>
        </span>
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

/** The name of an operator as a link to its row in the operators page; or why there is none. */
function Operator({
  name,
  none,
  title,
  note = null,
}: {
  name: string | null;
  none: string;
  title: string;
  note?: string | null;
}) {
  if (name === null)
    return (
      <span class="value muted" title={title}>
        {none}
      </span>
    );
  return (
    <span class="value" title={note ? `${name} (${note})` : name}>
      <a {...linkProps({ view: "operators", filter: `name = ${quote(name)}` })}>{name}</a>
      {note && <span class="muted"> {note}</span>}
    </span>
  );
}

const ALIVE: readonly Column<AliveRow>[] = [
  {
    key: "operator",
    ...texts.ofAlive.operator,
    kind: "text",
    width: 260,
    value: (r) => r.operator ?? texts.sources[r.source].label,
    code: (r) => r.operator ?? r.source,
    cell: (r) => (
      <Operator
        name={r.operator}
        none={texts.sources[r.source].label}
        title={texts.sources[r.source].title}
      />
    ),
  },
  {
    key: "input_shapes",
    ...texts.ofAlive.inputShapes,
    kind: "text",
    width: 320,
    value: (r) => r.input_shapes,
  },
  {
    key: "share",
    ...texts.ofAlive.share,
    kind: "share",
    width: 160,
    additive: true,
    value: (r) => r.share,
    bar: (r) => (r.source === "operator" ? "kernel" : "other"),
  },
  { key: "bytes", ...texts.ofAlive.size, kind: "bytes", width: 96, additive: true, value: (r) => r.bytes },
  {
    key: "allocations",
    ...texts.ofAlive.allocations,
    kind: "count",
    width: 96,
    additive: true,
    value: (r) => r.allocations,
  },
];

const KINDS: readonly Column<MemoryCategory>[] = [
  {
    key: "category",
    ...texts.ofKinds.category,
    kind: "text",
    width: 200,
    value: (r) => CATEGORIES[r.category].label,
    code: (r) => r.category,
    cell: (r) => (
      <span class="value" title={CATEGORIES[r.category].title}>
        <i class="swatch" style={{ "--fill": CATEGORIES[r.category].fill }} />
        {CATEGORIES[r.category].label}
      </span>
    ),
  },
  {
    key: "at_peak_bytes",
    ...texts.ofKinds.atPeak,
    kind: "bytes",
    width: 104,
    additive: true,
    value: (r) => r.at_peak_bytes,
  },
  {
    key: "share",
    ...texts.ofKinds.share,
    kind: "share",
    width: 160,
    additive: true,
    value: (r) => r.share,
    bar: () => "kernel",
  },
  { key: "peak_bytes", ...texts.ofKinds.peak, kind: "bytes", width: 96, value: (r) => r.peak_bytes },
  { key: "peak_at_ns", ...texts.ofKinds.peakAt, kind: "time", width: 104, value: (r) => r.peak_at_ns },
  {
    key: "at_start_bytes",
    ...texts.ofKinds.atStart,
    kind: "bytes",
    width: 104,
    additive: true,
    value: (r) => r.at_start_bytes,
  },
  {
    key: "at_end_bytes",
    ...texts.ofKinds.atEnd,
    kind: "bytes",
    width: 104,
    additive: true,
    value: (r) => r.at_end_bytes,
  },
  {
    key: "allocated_bytes",
    ...texts.ofKinds.allocated,
    kind: "bytes",
    width: 96,
    additive: true,
    value: (r) => r.allocated_bytes,
  },
  {
    key: "allocations",
    ...texts.ofKinds.allocations,
    kind: "count",
    width: 96,
    additive: true,
    value: (r) => r.allocations,
  },
];

const OPERATORS: readonly Column<MemoryOperator>[] = [
  {
    key: "operator",
    ...texts.ofOperators.operator,
    kind: "text",
    width: 240,
    value: (r) => r.operator,
    cell: (r) => (
      <Operator name={r.operator} none={texts.sources.operator.label} title={texts.mostlyReleases} />
    ),
  },
  { key: "calls", ...texts.ofOperators.calls, kind: "count", width: 72, value: (r) => r.calls },
  {
    key: "self_allocated_bytes",
    ...texts.ofOperators.selfAllocated,
    kind: "bytes",
    width: 120,
    additive: true,
    value: (r) => r.self_allocated_bytes,
  },
  {
    key: "self_allocations",
    ...texts.ofOperators.selfAllocations,
    kind: "count",
    width: 88,
    additive: true,
    value: (r) => r.self_allocations,
  },
  {
    key: "self_increase_bytes",
    ...texts.ofOperators.selfIncrease,
    kind: "bytes",
    width: 104,
    additive: true,
    value: (r) => r.self_increase_bytes,
    cell: (r) => <span class="value">{signedBytes(r.self_increase_bytes)}</span>,
  },
  {
    key: "allocated_bytes",
    ...texts.ofOperators.allocated,
    kind: "bytes",
    width: 96,
    value: (r) => r.allocated_bytes,
  },
  {
    key: "allocations",
    ...texts.ofOperators.allocations,
    kind: "count",
    width: 80,
    value: (r) => r.allocations,
  },
  {
    key: "increase_bytes",
    ...texts.ofOperators.increase,
    kind: "bytes",
    width: 96,
    value: (r) => r.increase_bytes,
    cell: (r) => <span class="value">{signedBytes(r.increase_bytes)}</span>,
  },
];

type Row = Allocation & { key: string };

/** What is shown before and after an allocation: an operator or two. */
const MOMENT_NS = 50_000;

const allocationColumns = (end: number): Column<Row>[] => [
  {
    key: "operator",
    ...texts.ofAllocations.operator,
    kind: "text",
    width: 220,
    value: (r) => r.operator,
    cell: (r) => (
      <Operator
        name={r.operator}
        note={r.allocator}
        none={r.allocated_ns === null ? texts.fates[r.fate].short : texts.sources.operator.label}
        title={texts.fates[r.fate].title}
      />
    ),
  },
  {
    key: "input_shapes",
    ...texts.ofAllocations.inputShapes,
    kind: "text",
    width: 200,
    value: (r) => r.input_shapes,
  },
  {
    key: "bytes",
    ...texts.ofAllocations.size,
    kind: "bytes",
    width: 88,
    additive: true,
    value: (r) => r.bytes,
  },
  {
    key: "allocated_ns",
    ...texts.ofAllocations.allocated,
    kind: "time",
    width: 96,
    value: (r) => r.allocated_ns,
    cell: (r) =>
      r.allocated_ns === null ? (
        <span class="value muted">–</span>
      ) : (
        <a
          class="value"
          {...stretch(r.allocated_ns - MOMENT_NS, r.allocated_ns + MOMENT_NS, end)}
          data-testid="allocation-timeline"
          title={texts.toTimeline}
        >
          {duration(r.allocated_ns)}
        </a>
      ),
  },
  {
    key: "freed_ns",
    ...texts.ofAllocations.freed,
    kind: "time",
    width: 104,
    value: (r) => r.freed_ns,
    cell: (r) =>
      r.freed_ns === null ? (
        <span class="value muted" title={texts.fates[r.fate].title}>
          {r.fate === "unknown" ? "–" : texts.fates[r.fate === "held" ? "held" : "unreported"].label}
        </span>
      ) : (
        <span class="value">{duration(r.freed_ns)}</span>
      ),
  },
  {
    key: "lifetime_ns",
    ...texts.ofAllocations.lifetime,
    kind: "time",
    width: 88,
    value: (r) => r.lifetime_ns,
  },
  {
    key: "fate",
    ...texts.ofAllocations.fate,
    kind: "text",
    width: 88,
    value: (r) => texts.fates[r.fate].label,
    code: (r) => r.fate,
    cell: (r) => (
      <span class="value muted" title={texts.fates[r.fate].title || texts.fates[r.fate].label}>
        {texts.fates[r.fate].label}
      </span>
    ),
  },
  {
    key: "category",
    ...texts.ofAllocations.category,
    kind: "text",
    width: 120,
    value: (r) => CATEGORIES[r.category].label,
    code: (r) => r.category,
    cell: (r) => (
      <span class="value" title={CATEGORIES[r.category].title}>
        {CATEGORIES[r.category].label}
      </span>
    ),
  },
  {
    key: "stack",
    ...texts.ofAllocations.stack,
    kind: "text",
    width: 280,
    value: (r) => r.stack,
    cell: (r) => (
      <span class="value" title={r.stack?.replaceAll(";", "\n") ?? texts.noFrames}>
        {ownFrame(r.stack)?.replace(/^.*\//, "") ?? "–"}
      </span>
    ),
  },
];

const STEPS: readonly Column<MemoryStep>[] = [
  {
    key: "name",
    ...texts.ofSteps.step,
    kind: "text",
    width: 120,
    value: (s) => nameOf(s.name),
    code: (s) => s.name,
    cell: (s) => (
      <span class="value">
        {stepLabel(s.name)}
        {s.incomplete && <span class="warn"> {texts.cutOff}</span>}
      </span>
    ),
  },
  {
    key: "start_ns",
    ...texts.ofSteps.start,
    kind: "time",
    width: 88,
    value: (s) => s.start_ns,
    cell: (s) => <StepLink name={s.name}>{duration(s.start_ns)}</StepLink>,
  },
  { key: "peak_bytes", ...texts.ofSteps.peak, kind: "bytes", width: 96, value: (s) => s.peak_bytes },
  { key: "at_end_bytes", ...texts.ofSteps.atEnd, kind: "bytes", width: 96, value: (s) => s.at_end_bytes },
  {
    key: "change_bytes",
    ...texts.ofSteps.change,
    kind: "bytes",
    width: 104,
    value: (s) => s.change_bytes,
    cell: (s) => <span class="value">{signedBytes(s.change_bytes)}</span>,
  },
  {
    key: "allocated_bytes",
    ...texts.ofSteps.allocated,
    kind: "bytes",
    width: 96,
    additive: true,
    value: (s) => s.allocated_bytes,
  },
  {
    key: "allocations",
    ...texts.ofSteps.allocations,
    kind: "count",
    width: 96,
    additive: true,
    value: (s) => s.allocations,
  },
];

const TOTALS: ReadonlySet<string> = new Set(["peak_bytes", "at_end_bytes", "change_bytes"]);
