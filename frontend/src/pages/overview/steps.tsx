// The steps of the overview: chart, legend and table. A click selects a step.
import { useMemo } from "preact/hooks";
import { CATEGORIES } from "../../lib/color";
import { duration, exactDuration } from "../../lib/format";
import type { Overview, Step } from "../../api/types";
import { nameOf, stepLabel, stepNumber } from "../../state/selection";
import { tableInUrl } from "../../state/table-in-url";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { StackedBars } from "../../widgets/charts/stacked-bars";
import type { Bar } from "../../widgets/charts/stacked-bars-layout";
import { field, worded, type Column } from "../../widgets/table/columns";
import { Table } from "../../widgets/table/table";
import { DataWarnings } from "../shared/data-warnings";
import { StepLink } from "../shared/step-link";
import { Averages } from "./averages";
import { stepSeries, type Series } from "./step-series";

const texts = t.overview;

/** Nothing where there are not two steps to compare. */
export function Steps({ all, onPage }: { all: Overview; onPage: (offset: number) => void }) {
  const series = useMemo(() => stepSeries(all), [all]);
  if (all.steps.length < 2) return null;
  const chosen = selectedStep(all);
  return (
    <section data-testid="steps">
      <Title selectable={all.steps.some((s) => stepNumber(s.name) !== null)} />
      <Pages all={all} onPage={onPage} />
      <DataWarnings findings={all.provenance.warnings} figures={["steps"]} />
      <StepChart all={all} series={series} selected={chosen?.name ?? null} onSelect={choose} />
      <StepTable all={all} series={series} chosen={chosen} />
      {all.averages.length > 0 && (
        <details>
          <summary data-testid="open-averages">{t.averages.title}</summary>
          <Averages all={all} categories={CATEGORIES} chosen={chosen} />
        </details>
      )}
    </section>
  );
}

/** Of many steps some are listed: which, and the ways to the others. */
function Pages({ all, onPage }: { all: Overview; onPage: (offset: number) => void }) {
  const { steps_offset: offset, steps_total: total, steps } = all;
  if (steps.length >= total) return null;
  const end = offset + steps.length;
  const turn = (testid: string, label: string, to: number, disabled: boolean) => (
    <button type="button" class="quiet" data-testid={testid} {...{ disabled }} onClick={() => onPage(to)}>
      {label}
    </button>
  );
  return (
    <p class="muted" data-testid="step-pages" data-value={total}>
      {texts.listed(offset + 1, end, total)} {texts.allCount}{" "}
      {turn("steps-before", texts.before, Math.max(0, offset - MOST_STEPS), offset === 0)}{" "}
      {turn("steps-after", texts.after, end, end >= total)}
    </p>
  );
}

/** The server's own limit of a list of steps. */
const MOST_STEPS = 500;

interface StepChartProps {
  all: Overview;
  series: readonly Series[];
  selected: string | null;
  onSelect: (name: string) => void;
}

/** The steps as bars of their parts, with a legend. */
export function StepChart({ all, series, selected, onSelect }: StepChartProps) {
  return (
    <>
      <StackedBars
        bars={all.steps.map((s) => barOf(s, series, all.provenance.timeline === "inferred"))}
        parts={series}
        hatched={new Set(series.filter((one) => one.hatched).map((one) => one.key))}
        selected={selected}
        average={all.average_step_ns}
        onSelect={onSelect}
      />
      <Legend series={series} average={all.average_step_ns} />
    </>
  );
}

function selectedStep({ steps }: Overview): Step | null {
  const { step } = state.value;
  return step === null ? null : (steps.find((s) => stepNumber(s.name) === step) ?? null);
}

/** Selects a step; the selected one no longer. */
function choose(name: string): void {
  const number = stepNumber(name);
  if (number !== null) go({ step: number === state.value.step ? null : number });
}

function Title({ selectable }: { selectable: boolean }) {
  const { step } = state.value;
  return (
    <h2>
      {texts.steps}{" "}
      <small class="muted">
        {step === null ? (
          selectable && texts.clickOne
        ) : (
          <>
            {texts.selected(step)}{" "}
            <button type="button" class="link" data-testid="clear-step" onClick={() => go({ step: null })}>
              {texts.showAll}
            </button>
          </>
        )}
      </small>
    </h2>
  );
}

const barOf = (step: Step, series: readonly Series[], inferred: boolean): Bar => ({
  key: step.name,
  label: stepLabel(step.name),
  total: step.duration_ns,
  parts: Object.fromEntries(series.map((one) => [one.key, one.ns(step) ?? 0])),
  incomplete: step.incomplete,
  ...(inferred && {
    bound: step.duration_bound_ns,
    bounds: Object.fromEntries(series.map((one) => [one.key, one.bound(step)])),
  }),
});

function Legend({ series, average }: { series: readonly Series[]; average: number | null }) {
  return (
    <ul class="legend" data-testid="legend" aria-label={texts.legend}>
      {series.map(({ key, label, help, fill, hatched }) => (
        <li key={key} data-key={key} title={help}>
          <i class={`swatch ${hatched ? "inferred" : "measured"}`} style={{ "--fill": fill }} />
          {label}
        </li>
      ))}
      {average !== null && (
        <li title={exactDuration(average)}>
          <i class="dash" />
          {texts.average}
        </li>
      )}
    </ul>
  );
}

interface StepTableProps {
  all: Overview;
  series: readonly Series[];
  chosen: Step | null;
}

function StepTable({ all, series, chosen }: StepTableProps) {
  const columns = useMemo(() => stepColumns(all.steps, series), [all, series]);
  return (
    <div class="steptable" style={{ "--rows": Math.min(8, all.steps.length + 2) }}>
      <Table
        name="steps"
        {...texts.step}
        columns={columns}
        rows={all.steps}
        rowKey={(s) => s.name}
        {...tableInUrl()}
        defaultSort="start_ns"
        inferred={all.provenance.timeline === "inferred"}
        selected={chosen?.name ?? null}
        onOpen={(s) => choose(s.name)}
      />
    </div>
  );
}

/** A column whose time is below this share of every step is left out, until the reader adds it. */
const LEAST_SHARE = 0.01;

const stepColumns = (steps: readonly Step[], series: readonly Series[]): readonly Column<Step>[] => [
  worded("name", texts.columns.step, 64, (s) => nameOf(s.name), { cell: (s) => <StepName step={s} /> }),
  field("start_ns", texts.columns.start, "time", 72, {
    cell: (s) => (
      <StepLink name={s.name} testid="step-timeline">
        {duration(s.start_ns)}
      </StepLink>
    ),
  }),
  field("duration_ns", texts.columns.duration, "time", 74, {
    additive: true,
    bound: (s) => s.duration_bound_ns,
  }),
  ...series.map(
    (one): Column<Step> => ({
      key: `${one.key}_ns`,
      title: one.label,
      kind: "time",
      width: Math.max(76, one.label.length * 7.4 + 14),
      additive: true,
      help: one.help,
      optional: steps.every((s) => (one.ns(s) ?? 0) < LEAST_SHARE * s.duration_ns),
      value: one.ns,
      bound: one.bound,
    }),
  ),
];

function StepName({ step: s }: { step: Step }) {
  return (
    <span class="value">
      {stepLabel(s.name)}
      {s.incomplete && (
        <span class="warn" title={texts.cutOffHelp}>
          {" "}
          {texts.cutOff}
        </span>
      )}
      {s.primed && (
        <span class="muted" title={texts.primedHelp}>
          {" "}
          {texts.primed}
        </span>
      )}
    </span>
  );
}
