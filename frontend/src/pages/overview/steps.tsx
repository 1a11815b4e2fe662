// The steps of the overview: chart, legend and table. A click selects a step.
import { useMemo } from "preact/hooks";
import { CATEGORIES, color, DEVICE, LABELS, LOOKS, type Category, type Look } from "../../lib/color";
import { duration, exactDuration, percent } from "../../lib/format";
import type { Overview, Step } from "../../api/types";
import { nameOf, stepLabel, stepNumber } from "../../state/selection";
import { tableInUrl } from "../../state/table-in-url";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { StackedBars } from "../../widgets/charts/stacked-bars";
import type { Bar, BarPart } from "../../widgets/charts/stacked-bars-layout";
import { field, type Column } from "../../widgets/table/columns";
import { Table } from "../../widgets/table/table";
import { DataWarnings } from "../shared/data-warnings";
import { StepLink } from "../shared/step-link";

const texts = t.overview;

interface StepsProps {
  all: Overview;
  /** Parts that the trace can tell of. */
  categories: readonly Category[];
}

export function Steps({ all, categories }: StepsProps) {
  return (
    <>
      <Title selectable={all.steps.some((s) => stepNumber(s.name) !== null)} />
      <DataWarnings findings={all.provenance.warnings} figures={["steps"]} />
      {all.steps.length === 0 ? (
        <p class="muted">{texts.noSteps}</p>
      ) : (
        <>
          <StepChart all={all} categories={categories} />
          <StepTable all={all} categories={categories} />
        </>
      )}
    </>
  );
}

export function selectedStep({ steps }: Overview): Step | null {
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

const PARTS = CATEGORIES.map((c): BarPart => ({ key: c, label: LABELS[c], fill: color(c) }));
const NONE: ReadonlySet<Category> = new Set();

function StepChart({ all, categories }: StepsProps) {
  const { step } = state.value;
  const inferred = all.provenance.timeline === "inferred";
  return (
    <>
      {/* A single bar compares nothing: the legend has its parts. */}
      {all.steps.length > 1 && (
        <StackedBars
          bars={all.steps.map((s) => barOf(s, inferred))}
          parts={PARTS}
          hatched={inferred ? DEVICE : NONE}
          selected={selectedStep(all)?.name ?? null}
          average={all.average_step_ns}
          onSelect={choose}
        />
      )}
      <Legend
        steps={all.steps.filter((s) => step === null || stepNumber(s.name) === step)}
        inferred={inferred}
        categories={categories}
        average={all.steps.length > 1 ? all.average_step_ns : null}
      />
    </>
  );
}

function StepTable({ all, categories }: StepsProps) {
  const columns = useMemo(() => stepColumns(all.steps, categories), [all, categories]);
  return (
    <div
      class="steptable"
      style={{ "--rows": Math.min(10, all.steps.length + (all.steps.length > 1 ? 2 : 1)) }}
    >
      <Table
        name="steps"
        {...texts.step}
        columns={columns}
        rows={all.steps}
        rowKey={(s) => s.name}
        {...tableInUrl()}
        defaultSort="start_ns"
        selected={selectedStep(all)?.name ?? null}
        onOpen={(s) => choose(s.name)}
      />
    </div>
  );
}

/** The time of a part of a step; null of the device's if it is not known. */
export const part = (step: Step, category: Category): number | null => step[`${category}_ns`];

/** Whether a part has time in any of the steps. */
export const hasTime = (steps: readonly Step[], category: Category): boolean =>
  steps.some((s) => (part(s, category) ?? 0) > 0);

/** Parts without time in any step are left out, until the reader adds them. */
const stepColumns = (steps: readonly Step[], categories: readonly Category[]): readonly Column<Step>[] => [
  {
    key: "name",
    ...texts.columns.step,
    kind: "text",
    width: 64,
    value: (s) => nameOf(s.name),
    code: (s) => s.name,
    cell: (s) => (
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
    ),
  },
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
  ...categories.map(
    (category): Column<Step> => ({
      key: `${category}_ns`,
      title: LABELS[category],
      kind: "time",
      width: Math.max(72, LABELS[category].length * 7.4 + 14),
      additive: true,
      help: texts.part(LABELS[category]),
      value: (s) => part(s, category),
      optional: !hasTime(steps, category),
      bound: (s) => s[`${category}_bound_ns`],
    }),
  ),
];

function barOf(step: Step, inferred: boolean): Bar {
  const parts = Object.fromEntries(CATEGORIES.map((c) => [c, part(step, c) ?? 0]));
  const bounds = Object.fromEntries(CATEGORIES.map((c) => [c, step[`${c}_bound_ns`]]));
  return {
    key: step.name,
    label: stepLabel(step.name),
    total: step.duration_ns,
    parts,
    incomplete: step.incomplete,
    ...(inferred && { looks: looksOf(step), bound: step.duration_bound_ns, bounds }),
  };
}

/** How the parts of an inferred step are known: what gloo does on the host was measured. */
function looksOf(step: Step): Partial<Record<Category, Partial<Record<Look, number>>>> {
  const hosted = step.communication_host_ns;
  const bounded = step.kernel_bounded_ns ?? 0;
  return {
    kernel: { inferred: (step.kernel_ns ?? 0) - bounded, bounded },
    memcpy: { inferred: step.memcpy_ns ?? 0 },
    memset: { inferred: step.memset_ns ?? 0 },
    communication: { measured: hosted, inferred: (step.communication_ns ?? 0) - hosted },
    unknown: { inferred: step.unknown_ns ?? 0 },
  };
}

/** How a part is known in these steps: several ways, if there are. */
function looksIn(steps: readonly Step[], category: Category, inferred: boolean): Look[] {
  const all = inferred ? steps.map((s) => looksOf(s)[category] ?? {}) : [];
  const found = LOOKS.filter((look) => all.some((one) => (one[look] ?? 0) > 0));
  return found.length > 0 ? found : [inferred && DEVICE.has(category) ? "inferred" : "measured"];
}

interface LegendProps {
  steps: readonly Step[];
  inferred: boolean;
  categories: readonly Category[];
  average: number | null;
}

function Legend({ steps, inferred, categories, average }: LegendProps) {
  const total = steps.reduce((sum, s) => sum + s.duration_ns, 0);
  return (
    <ul class="legend" data-testid="legend" aria-label={texts.legend}>
      {categories.map((c) => {
        const known = steps.some((s) => part(s, c) !== null);
        const ns = steps.reduce((sum, s) => sum + (part(s, c) ?? 0), 0);
        return (
          <li
            key={c}
            data-key={c}
            data-value={ns}
            class={ns === 0 ? "muted none" : ""}
            title={exactDuration(known ? ns : null)}
          >
            {looksIn(steps, c, inferred).map((look) => (
              <i key={look} class={`swatch ${look}`} style={{ "--fill": color(c) }} />
            ))}
            {LABELS[c]} <b>{percent(known && total > 0 ? ns / total : null)}</b>{" "}
            {ns > 0 && <span class="muted">{duration(ns)}</span>}
          </li>
        );
      })}
      {average !== null && (
        <li title={exactDuration(average)}>
          <i class="dash" />
          {texts.average} <span class="muted">{duration(average)}</span>
        </li>
      )}
    </ul>
  );
}
