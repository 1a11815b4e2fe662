// The columns of the tables below the memory chart.
import type { AliveRow, Allocation, MemoryCategory, MemoryOperator, MemoryStep } from "../../api/types";
import { quote } from "../../lib/filter";
import { duration, signedBytes } from "../../lib/format";
import { ownFrame } from "../../lib/python-stack";
import { nameOf, stepLabel } from "../../state/selection";
import { t } from "../../i18n";
import type { Column } from "../../widgets/table/columns";
import { linkProps, stretch } from "../../state/links";
import { CATEGORIES } from "./categories";
import { StepLink } from "../shared/step-link";

const texts = t.memoryTables;

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

export const ALIVE: readonly Column<AliveRow>[] = [
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

export const KINDS: readonly Column<MemoryCategory>[] = [
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

export const OPERATORS: readonly Column<MemoryOperator>[] = [
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

export type Row = Allocation & { key: string };

/** What is shown before and after an allocation: an operator or two. */
const MOMENT_NS = 50_000;

export const allocationColumns = (end: number): Column<Row>[] => [
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

export const STEPS: readonly Column<MemoryStep>[] = [
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

export const TOTALS: ReadonlySet<string> = new Set(["peak_bytes", "at_end_bytes", "change_bytes"]);
