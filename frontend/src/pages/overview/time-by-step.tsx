// The classes of time of each step's window: chart, legend and table. A click selects a step.
import { useMemo, useState } from "preact/hooks";
import type { ClassTime, Overview, StepAccount } from "../../api/types";
import { classColor, CLASS_NAMES, type ClassName } from "../../lib/class-color";
import { duration } from "../../lib/format";
import { nameOf, stepLabel, stepNumber } from "../../state/selection";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { StackedBars } from "../../widgets/charts/stacked-bars";
import type { Bar, BarPart } from "../../widgets/charts/stacked-bars-layout";
import { field, type Column } from "../../widgets/table/columns";
import { Table } from "../../widgets/table/table";
import { StepLink } from "../shared/step-link";

const texts = t.timeByStep;

interface TimeByStepProps {
  /** Over all steps. */
  all: Overview;
  step: number | null;
}

/** Nothing where there are not two steps to compare. */
export function TimeByStep({ all, step }: TimeByStepProps) {
  const rows = all.account_steps;
  const classes = useMemo(() => classesIn(all), [all]);
  if (rows.length < 2) return null;
  const selected = rows.find((r) => step !== null && stepNumber(r.name) === step)?.name ?? null;
  const choose = (name: string): void => {
    const number = stepNumber(name);
    if (number !== null) go({ step: number === step ? null : number });
  };
  const incomplete = new Set(all.steps.filter((s) => s.incomplete).map((s) => s.name));
  const hatched = new Set(classes.filter((c) => c.bound_ns !== 0).map((c) => c.name));
  const parts = classes.map((c): BarPart => ({ key: c.name, label: c.label, fill: classColor(c.name) }));
  return (
    <section data-testid="account-steps">
      <h2>
        {texts.title} <small class="muted">{texts.note}</small>
      </h2>
      <StackedBars
        bars={rows.map((r) => barOf(r, incomplete.has(r.name)))}
        parts={parts}
        hatched={hatched}
        testid="account-chart"
        picture="time-by-step"
        selected={selected}
        average={null}
        onSelect={choose}
      />
      <Legend parts={parts} hatched={hatched} />
      <StepTable all={all} classes={classes} selected={selected} onOpen={choose} />
    </section>
  );
}

/** The classes that have time in any step, in the order of the colors. */
function classesIn({ account, account_steps: rows }: Overview): ClassTime[] {
  const known = new Map(account?.classes.map((c) => [c.name, c]));
  const used = new Set(rows.flatMap((r) => r.classes.map((c) => c.name)));
  return CLASS_NAMES.flatMap((name) => (used.has(name) ? (known.get(name) ?? []) : []));
}

const timeOf = (row: StepAccount, name: ClassName): number =>
  row.classes.find((c) => c.name === name)?.ns ?? 0;

function barOf(row: StepAccount, incomplete: boolean): Bar {
  return {
    key: row.name,
    label: stepLabel(row.name),
    total: row.classes.reduce((sum, c) => sum + c.ns, 0),
    parts: Object.fromEntries(row.classes.map((c) => [c.name, c.ns])),
    incomplete,
  };
}

function Legend({ parts, hatched }: { parts: readonly BarPart[]; hatched: ReadonlySet<string> }) {
  return (
    <ul class="legend" aria-label={texts.legend}>
      {parts.map(({ key, label, fill }) => (
        <li key={key} data-key={key}>
          <i class={`swatch ${hatched.has(key) ? "inferred" : "measured"}`} style={{ "--fill": fill }} />
          {label}
        </li>
      ))}
    </ul>
  );
}

interface StepTableProps {
  all: Overview;
  classes: readonly ClassTime[];
  selected: string | null;
  onOpen: (name: string) => void;
}

function StepTable({ all, classes, selected, onOpen }: StepTableProps) {
  const [sort, setSort] = useState<string | null>(null);
  const [filter, setFilter] = useState<string | null>(null);
  const device = all.utilisation !== null;
  const columns = useMemo(() => stepColumns(classes, device), [classes, device]);
  const rows = all.account_steps;
  return (
    <div class="steptable" style={{ "--rows": Math.min(8, rows.length + 2) }}>
      <Table
        name="account-steps"
        {...texts.step}
        columns={columns}
        rows={rows}
        rowKey={(r) => r.name}
        sort={sort}
        defaultSort=""
        filter={filter}
        inferred={all.provenance.timeline === "inferred"}
        selected={selected}
        onSort={setSort}
        onFilter={setFilter}
        onOpen={(r) => onOpen(r.name)}
      />
    </div>
  );
}

/** Without a device there is no idle time. */
function stepColumns(classes: readonly ClassTime[], device: boolean): readonly Column<StepAccount>[] {
  const name: Column<StepAccount> = {
    key: "name",
    ...texts.columns.step,
    kind: "text",
    width: 64,
    value: (r) => nameOf(r.name),
    code: (r) => r.name,
    cell: (r) => <StepLink name={r.name}>{stepLabel(r.name)}</StepLink>,
  };
  const idle = field<StepAccount>("idle_ns", texts.columns.idle, "time", 90, {
    additive: true,
    bound: (r) => r.idle_bound_ns,
    cell: (r) => <span class="value">{duration(r.idle_ns)}</span>,
  });
  return [
    name,
    ...(device ? [idle] : []),
    ...classes.map(
      (c): Column<StepAccount> => ({
        key: `${c.name}_ns`,
        title: c.label,
        help: c.meaning,
        kind: "time",
        additive: true,
        width: Math.max(76, c.label.length * 7.4 + 14),
        value: (r) => timeOf(r, c.name),
        // The bound is known of the sum over all classes of idle time only.
        bound: (r) => (r.idle_bound_ns === 0 || timeOf(r, c.name) === 0 ? 0 : null),
      }),
    ),
  ];
}
