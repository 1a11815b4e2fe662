// The columns of the tables below the memory chart.
import type {
  AliveFunction,
  AliveModule,
  AliveRow,
  Allocation,
  MemoryCategory,
  MemoryOperator,
  MemoryStep,
} from "../../api/types";
import { duration, signedBytes } from "../../lib/format";
import { nameOf, stepLabel } from "../../state/selection";
import { t } from "../../i18n";
import { derived, field, worded, type Column } from "../../widgets/table/columns";
import { toInterval, toOperator } from "../../state/links";
import { CATEGORIES } from "./categories";
import { StackCell } from "../shared/cells";
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
      <a {...toOperator(name)}>{name}</a>
      {note && <span class="muted"> {note}</span>}
    </span>
  );
}

export const ALIVE: readonly Column<AliveRow>[] = [
  derived(
    "operator",
    texts.ofAlive.operator,
    "text",
    260,
    (r) => r.operator ?? texts.sources[r.source].label,
    {
      code: (r) => r.operator ?? r.source,
      cell: (r) => (
        <Operator
          name={r.operator}
          none={texts.sources[r.source].label}
          title={texts.sources[r.source].title}
        />
      ),
    },
  ),
  field("input_shapes", texts.ofAlive.inputShapes, "text", 320),
  field("share", texts.ofAlive.share, "share", 160, {
    additive: true,
    bar: (r) => (r.source === "operator" ? "kernel" : "other"),
  }),
  field("bytes", texts.ofAlive.size, "bytes", 96, { additive: true }),
  field("allocations", texts.ofAlive.allocations, "count", 96, { additive: true }),
];

export const ALIVE_FUNCTIONS: readonly Column<AliveFunction>[] = [
  derived(
    "function",
    texts.ofRemaining.function,
    "text",
    360,
    (r) => r.function ?? (r.source === "operator" ? texts.noFunction : texts.sources[r.source].label),
    {
      code: (r) => r.function ?? r.source,
      cell: (r) => (
        <span
          class={`value ${r.function ? "" : "muted"}`}
          title={r.function ?? texts.sources[r.source].title}
        >
          {r.function ?? (r.source === "operator" ? texts.noFunction : texts.sources[r.source].label)}
        </span>
      ),
    },
  ),
  field("operator", texts.ofRemaining.operator, "text", 220),
  field("share", texts.ofAlive.share, "share", 160, {
    additive: true,
    bar: (r) => (r.source === "operator" ? "kernel" : "other"),
  }),
  field("bytes", texts.ofAlive.size, "bytes", 96, { additive: true }),
  field("allocations", texts.ofAlive.allocations, "count", 96, { additive: true }),
];

export const MODULES: readonly Column<AliveModule>[] = [
  derived("module", texts.ofModules.module, "text", 260, (r) => r.module ?? texts.noModule, {
    code: (r) => r.module ?? "",
    cell: (r) => <span class={`value ${r.module ? "" : "muted"}`}>{r.module ?? texts.noModule}</span>,
  }),
  worded("phase", texts.ofModules.phase, 160, (r) => texts.phases[r.phase].label, {
    cell: (r) => (
      <span class="value" title={texts.phases[r.phase].title}>
        {texts.phases[r.phase].label}
      </span>
    ),
  }),
  field("share", texts.ofModules.share, "share", 160, {
    additive: true,
    bar: (r) => (r.allocations === null ? "other" : "kernel"),
  }),
  field("bytes", texts.ofModules.size, "bytes", 96, { additive: true }),
  field("allocations", texts.ofModules.allocations, "count", 96, { additive: true }),
];

export const KINDS: readonly Column<MemoryCategory>[] = [
  worded("category", texts.ofKinds.category, 200, (r) => CATEGORIES[r.category].label, {
    cell: (r) => (
      <span class="value" title={CATEGORIES[r.category].title}>
        <i class="swatch" style={{ "--fill": CATEGORIES[r.category].fill }} />
        {CATEGORIES[r.category].label}
      </span>
    ),
  }),
  field("at_peak_bytes", texts.ofKinds.atPeak, "bytes", 104, { additive: true }),
  field("share", texts.ofKinds.share, "share", 160, { additive: true, bar: () => "kernel" }),
  field("peak_bytes", texts.ofKinds.peak, "bytes", 96),
  field("peak_at_ns", texts.ofKinds.peakAt, "time", 104),
  field("at_start_bytes", texts.ofKinds.atStart, "bytes", 104, { additive: true }),
  field("at_end_bytes", texts.ofKinds.atEnd, "bytes", 104, { additive: true }),
  field("allocated_bytes", texts.ofKinds.allocated, "bytes", 96, { additive: true }),
  field("allocations", texts.ofKinds.allocations, "count", 96, { additive: true }),
];

export const OPERATORS: readonly Column<MemoryOperator>[] = [
  field("operator", texts.ofOperators.operator, "text", 240, {
    cell: (r) => (
      <Operator name={r.operator} none={texts.sources.operator.label} title={texts.mostlyReleases} />
    ),
  }),
  field("calls", texts.ofOperators.calls, "count", 72),
  field("self_allocated_bytes", texts.ofOperators.selfAllocated, "bytes", 120, { additive: true }),
  field("self_allocations", texts.ofOperators.selfAllocations, "count", 88, { additive: true }),
  field("self_increase_bytes", texts.ofOperators.selfIncrease, "bytes", 104, {
    additive: true,
    cell: (r) => <span class="value">{signedBytes(r.self_increase_bytes)}</span>,
  }),
  field("allocated_bytes", texts.ofOperators.allocated, "bytes", 96),
  field("allocations", texts.ofOperators.allocations, "count", 80),
  field("increase_bytes", texts.ofOperators.increase, "bytes", 96, {
    cell: (r) => <span class="value">{signedBytes(r.increase_bytes)}</span>,
  }),
];

export type Row = Allocation & { key: string };

/** What is shown before and after an allocation: an operator or two. */
const MOMENT_NS = 50_000;

/** When it was allocated, as a link to that moment on the timeline. */
function Allocated({ at, end }: { at: number | null; end: number }) {
  if (at === null) return <span class="value muted">–</span>;
  return (
    <a
      class="value"
      {...toInterval(at - MOMENT_NS, at + MOMENT_NS, end)}
      data-testid="allocation-timeline"
      title={texts.toTimeline}
    >
      {duration(at)}
    </a>
  );
}

/** When it was released, or why that is not in the recording. */
function Freed({ row: { freed_ns, fate } }: { row: Allocation }) {
  if (freed_ns !== null) return <span class="value">{duration(freed_ns)}</span>;
  return (
    <span class="value muted" title={texts.fates[fate].title}>
      {fate === "unknown" ? "–" : texts.fates[fate === "held" ? "held" : "unreported"].label}
    </span>
  );
}

export const allocationColumns = (end: number): Column<Row>[] => [
  field("operator", texts.ofAllocations.operator, "text", 220, {
    cell: (r) => (
      <Operator
        name={r.operator}
        note={r.allocator}
        none={r.allocated_ns === null ? texts.fates[r.fate].short : texts.sources.operator.label}
        title={texts.fates[r.fate].title}
      />
    ),
  }),
  field("input_shapes", texts.ofAllocations.inputShapes, "text", 200),
  field("bytes", texts.ofAllocations.size, "bytes", 88, { additive: true }),
  field("allocated_ns", texts.ofAllocations.allocated, "time", 96, {
    cell: (r) => <Allocated at={r.allocated_ns} end={end} />,
  }),
  field("freed_ns", texts.ofAllocations.freed, "time", 104, {
    cell: (r) => <Freed row={r} />,
  }),
  field("lifetime_ns", texts.ofAllocations.lifetime, "time", 88),
  worded("fate", texts.ofAllocations.fate, 88, (r) => texts.fates[r.fate].label, {
    cell: (r) => (
      <span class="value muted" title={texts.fates[r.fate].title || texts.fates[r.fate].label}>
        {texts.fates[r.fate].label}
      </span>
    ),
  }),
  worded("category", texts.ofAllocations.category, 120, (r) => CATEGORIES[r.category].label, {
    cell: (r) => (
      <span class="value" title={CATEGORIES[r.category].title}>
        {CATEGORIES[r.category].label}
      </span>
    ),
  }),
  field("stack", texts.ofAllocations.stack, "text", 280, {
    cell: (r) => <StackCell stack={r.stack} none={texts.noFrames} />,
  }),
];

export const STEPS: readonly Column<MemoryStep>[] = [
  worded("name", texts.ofSteps.step, 120, (s) => nameOf(s.name), {
    cell: (s) => (
      <span class="value">
        {stepLabel(s.name)}
        {s.incomplete && <span class="warn"> {texts.cutOff}</span>}
      </span>
    ),
  }),
  field("start_ns", texts.ofSteps.start, "time", 88, {
    cell: (s) => <StepLink name={s.name}>{duration(s.start_ns)}</StepLink>,
  }),
  field("peak_bytes", texts.ofSteps.peak, "bytes", 96),
  field("at_end_bytes", texts.ofSteps.atEnd, "bytes", 96),
  field("change_bytes", texts.ofSteps.change, "bytes", 104, {
    cell: (s) => <span class="value">{signedBytes(s.change_bytes)}</span>,
  }),
  field("allocated_bytes", texts.ofSteps.allocated, "bytes", 96, { additive: true }),
  field("allocations", texts.ofSteps.allocations, "count", 96, { additive: true }),
];

export const TOTALS: ReadonlySet<string> = new Set(["peak_bytes", "at_end_bytes", "change_bytes"]);
