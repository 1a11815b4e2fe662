// Idle time of the device: causes, the operators it waited for, and both by step.
import { useState } from "preact/hooks";
import type { Cause, Overview, StepIdle } from "../../api/types";
import { CATEGORIES, color, type Category } from "../../lib/color";
import { quote } from "../../lib/filter";
import { boundOf, count, duration, exactDuration, percent } from "../../lib/format";
import { nameOf, stepLabel, stepNumber } from "../../state/selection";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { field, type Column } from "../../widgets/table/columns";
import { CsvButton } from "../../widgets/table/csv-button";
import { StackedBars } from "../../widgets/charts/stacked-bars";
import type { Bar } from "../../widgets/charts/stacked-bars-layout";
import { Table } from "../../widgets/table/table";
import { DataWarnings } from "../shared/data-warnings";
import { linkProps, stretch } from "../../state/links";
import { StepLink } from "../shared/step-link";

interface About {
  label: string;
  category: Category;
  help: string;
  /** The page that tells more of it. */
  view?: string;
}

const texts = t.idleTime;

const CAUSES: Readonly<Record<string, About>> = {
  host_operator: { ...texts.causes.host_operator, category: "cpu", view: "operators" },
  host_code: { ...texts.causes.host_code, category: "memset", view: "flame" },
  data_loader: { ...texts.causes.data_loader, category: "dataloader" },
  synchronisation: { ...texts.causes.synchronisation, category: "memcpy" },
  communication_wait: { ...texts.causes.communication_wait, category: "communication", view: "distributed" },
  launch_latency: { ...texts.causes.launch_latency, category: "runtime" },
  unknown: { ...texts.causes.unknown, category: "other" },
  other_step: { ...texts.causes.other_step, category: "kernel" },
};

const about = (cause: string): About => CAUSES[cause] ?? { label: cause, category: "other", help: "" };

/** In the order of the bars: the host's first. */
const ORDER = Object.keys(CAUSES);

const NAMES = Object.fromEntries(ORDER.map((c) => [about(c).category, about(c).label]));

export function IdleTime({ now, step }: { now: Overview; step: number | null }) {
  const inferred = now.provenance.timeline === "inferred";
  const whole = now.totals.idle_ns;
  if (whole === null) return null;
  const causes = ORDER.flatMap((c) => now.idle.filter((one) => one.cause === c && one.idle_ns > 0));
  return (
    <section data-testid="idle">
      <h2 class="withcsv">
        {texts.title}{" "}
        <small class="muted">
          {texts.titleNote(
            step,
            [duration(whole), boundOf(now.totals.idle_bound_ns, inferred)].filter(Boolean).join(" "),
            inferred,
          )}
        </small>
        <CsvButton name="idle" rows={causes} />
      </h2>
      <DataWarnings findings={now.provenance.warnings} figures={["totals"]} />
      {whole === 0 ? (
        <p class="muted">{texts.never}</p>
      ) : (
        <>
          <CauseBar causes={causes} whole={whole} inferred={inferred} />
          <div class="columns equal top">
            <Causes causes={causes} now={now} inferred={inferred} />
            <Before now={now} inferred={inferred} />
          </div>
        </>
      )}
    </section>
  );
}

interface CausesProps {
  causes: readonly Cause[];
  whole: number;
  inferred: boolean;
}

function CauseBar({ causes, whole, inferred }: CausesProps) {
  const shares = causes.map((c) => texts.share(about(c.cause).label, percent(c.idle_ns / whole)));
  return (
    <div
      class={inferred ? "causebar inferred" : "causebar"}
      role="img"
      aria-label={texts.shares(shares)}
      data-testid="idle-bar"
    >
      {causes.map((c) => (
        <span
          key={c.cause}
          data-key={c.cause}
          data-value={c.idle_ns}
          style={{ flexGrow: c.idle_ns, "--fill": color(about(c.cause).category) }}
          title={texts.part(about(c.cause).label, exactDuration(c.idle_ns), percent(c.idle_ns / whole))}
        />
      ))}
    </div>
  );
}

function Causes({ causes, now, inferred }: { causes: readonly Cause[]; now: Overview; inferred: boolean }) {
  return (
    <table class="plain" data-testid="idle-causes">
      <thead>
        <tr>
          <th scope="col">{texts.cause}</th>
          <th scope="col" class="number">
            {texts.idle}
          </th>
          <th scope="col" class="number">
            {texts.ofTotal}
          </th>
          <th scope="col" class="number" title={texts.stretchesHelp}>
            {texts.stretches}
          </th>
          <th scope="col" class="number" title={texts.longestHelp}>
            {texts.longest}
          </th>
        </tr>
      </thead>
      <tbody>
        {causes.map((c) => {
          const { label, category, help, view } = about(c.cause);
          return (
            <tr key={c.cause} data-key={c.cause} data-value={c.idle_ns}>
              <td title={help}>
                <i
                  class={`swatch ${inferred ? "inferred" : "measured"}`}
                  style={{ "--fill": color(category) }}
                />
                {view ? <a {...linkProps({ view })}>{label}</a> : label}
              </td>
              <td
                class={inferred ? "number uncertain" : "number"}
                data-bound={c.bound_ns ?? "unknown"}
                title={`${exactDuration(c.idle_ns)} ${boundOf(c.bound_ns, inferred)}`}
              >
                {duration(c.idle_ns)}
              </td>
              <td class="number">{percent(c.share)}</td>
              <td class="number">{count(c.stretches)}</td>
              <td class="number">
                <a
                  {...stretch(c.longest_start_ns, c.longest_start_ns + c.longest_ns, now.duration_ns)}
                  data-testid={`idle-to-${c.cause}`}
                >
                  {duration(c.longest_ns)}
                </a>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Before({ now, inferred }: { now: Overview; inferred: boolean }) {
  return (
    <div>
      <table class="plain" data-testid="idle-before">
        <thead>
          <tr>
            <th scope="col" title={texts.beforeHelp}>
              {texts.before}
            </th>
            <th scope="col" class="number">
              {texts.idle}
            </th>
            <th scope="col" class="number">
              {texts.ofTotal}
            </th>
            <th scope="col" class="number">
              {texts.gaps}
            </th>
            <th scope="col" class="number" title={texts.longestHelp}>
              {texts.longest}
            </th>
          </tr>
        </thead>
        <tbody>
          {now.idle_before.slice(0, 6).map((r) => (
            <tr key={r.name} data-key={r.name} data-value={r.idle_ns}>
              <td class="wrap">
                {r.name ? (
                  <a {...linkProps({ view: "operators", filter: `name = ${quote(r.name)}` })}>{r.name}</a>
                ) : (
                  <span class="muted">{texts.noOperator}</span>
                )}
              </td>
              <td class={inferred ? "number uncertain" : "number"} title={exactDuration(r.idle_ns)}>
                {duration(r.idle_ns)}
              </td>
              <td class="number">{percent(r.share)}</td>
              <td class="number">{count(r.gaps)}</td>
              <td class="number">
                <a {...stretch(r.longest_start_ns, r.longest_start_ns + r.longest_ns, now.duration_ns)}>
                  {duration(r.longest_ns)}
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <CsvButton name="idle-before" rows={now.idle_before} />
    </div>
  );
}

/** Idle time within each step's window; a click selects the step. */
export function IdleSteps({ all, step }: { all: Overview; step: number | null }) {
  const [sort, setSort] = useState<string | null>(null);
  const [filter, setFilter] = useState<string | null>(null);
  const inferred = all.provenance.timeline === "inferred";
  const rows = all.idle_steps;
  if (rows.length === 0) return null;
  const selected = rows.find((r) => step !== null && stepNumber(r.name) === step)?.name ?? null;
  const incomplete = new Set(all.steps.filter((s) => s.incomplete).map((s) => s.name));
  const choose = (name: string): void => {
    const number = stepNumber(name);
    if (number !== null) go({ step: number === step ? null : number });
  };
  return (
    <section>
      <h2>
        {texts.bySteps} <small class="muted">{texts.byStepsNote}</small>
      </h2>
      <StackedBars
        bars={rows.map((r) => barOf(r, incomplete.has(r.name), inferred))}
        inferred={inferred}
        hatched={ALL}
        names={NAMES}
        testid="idle-chart"
        picture="idle"
        selected={selected}
        average={null}
        onSelect={choose}
      />
      <div class="steptable" style={{ "--rows": Math.min(8, rows.length + (rows.length > 1 ? 2 : 1)) }}>
        <Table
          name="idle-steps"
          {...texts.stepNoun}
          columns={COLUMNS}
          rows={rows}
          rowKey={(r) => r.name}
          sort={sort}
          defaultSort=""
          filter={filter}
          inferred={inferred}
          selected={selected}
          onSort={setSort}
          onFilter={setFilter}
          onOpen={(r) => choose(r.name)}
        />
      </div>
    </section>
  );
}

const ALL: ReadonlySet<Category> = new Set(CATEGORIES);

type CauseKey =
  | "host_operator"
  | "host_code"
  | "data_loader"
  | "synchronisation"
  | "communication_wait"
  | "launch_latency"
  | "unknown";

const OF_STEPS = ORDER.filter((c): c is CauseKey => c !== "other_step");

const COLUMNS: readonly Column<StepIdle>[] = [
  {
    key: "name",
    title: texts.step,
    kind: "text",
    width: 64,
    value: (r) => nameOf(r.name),
    code: (r) => r.name,
    cell: (r) => <span class="value">{stepLabel(r.name)}</span>,
  },
  field("idle_ns", texts.idleOfStep, "time", 90, {
    additive: true,
    bound: (r) => r.idle_bound_ns,
    cell: (r) => <StepLink name={r.name}>{duration(r.idle_ns)}</StepLink>,
  }),
  ...OF_STEPS.map(
    (cause): Column<StepIdle> => ({
      key: `${cause}_ns`,
      title: about(cause).label,
      help: about(cause).help,
      kind: "time",
      additive: true,
      width: Math.max(76, about(cause).label.length * 7.4 + 14),
      value: (r) => r[`${cause}_ns`],
      // What is inferred has a bound that is not known: only that of the sum is.
      bound: (r) => (r.idle_bound_ns === 0 || r[`${cause}_ns`] === 0 ? 0 : null),
    }),
  ),
];

function barOf(row: StepIdle, incomplete: boolean, inferred: boolean): Bar {
  const parts = Object.fromEntries(CATEGORIES.map((c) => [c, 0])) as Record<Category, number>;
  for (const cause of OF_STEPS) parts[about(cause).category] = row[`${cause}_ns`];
  return {
    key: row.name,
    label: stepLabel(row.name),
    total: row.idle_ns,
    parts,
    incomplete,
    ...(inferred && { bound: row.idle_bound_ns }),
  };
}
