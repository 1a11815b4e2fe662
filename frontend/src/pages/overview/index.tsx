// The overview: step time, utilization of the device, top findings.
import { useMemo } from "preact/hooks";
import { CATEGORIES, color, DEVICE, LABELS, LOOKS, type Category, type Look } from "../../lib/color";
import { duration, exactDuration, percent } from "../../lib/format";
import type { Overview as Result, Step } from "../../api/types";
import { useLatest, useView } from "../../state/use-result";
import { nameOf, stepLabel, stepNumber } from "../../state/selection";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import type { Column } from "../../widgets/table/columns";
import { StackedBars, type Bar } from "../../widgets/charts/stacked-bars";
import { Table } from "../../widgets/table/table";
import { DataWarnings } from "../shared/data-warnings";
import { Averages } from "./averages";
import { TopFindings } from "./top-findings";
import { KeyFigures } from "./key-figures";
import { IdleSteps, IdleTime } from "./idle-time";
import { RecordingLine } from "./recording-line";
import { NoDeviceTimes } from "../shared/no-device-times";
import type { PageProps } from "../page-props";
import { StepLink } from "../shared/step-link";
import { TimelineSource } from "../shared/timeline-source";
import { Show } from "../shared/load-states";
import { Facts, TopKernels, TopOperators, TotalsCard } from "../shared/cards";

const texts = t.overview;

/** The chart always shows all steps; figures and totals are of the selected one. Until these are
 * there the last ones stay, and with them the place on the page and the focus. */
export function Overview({ selected, base }: PageProps) {
  const { run, rank, span } = selected.place;
  const resource = useView("overview", selected, {});
  const loaded = useLatest(resource.loaded, `${run}/${rank}/${span}`);
  return (
    <Show resource={{ ...resource, loaded }}>
      {(now) => <Page selected={selected} all={base} now={now} busy={loaded !== resource.loaded} />}
    </Show>
  );
}

function Page({
  selected,
  all,
  now,
  busy,
}: {
  selected: PageProps["selected"];
  all: Result;
  now: Result;
  busy: boolean;
}) {
  const inferred = all.provenance.timeline === "inferred";
  // What the trace does not tell is not shown as 0. Communication may be the host's own (gloo).
  const hostOnly = all.provenance.timeline === "none";
  const categories = useMemo(
    () =>
      hostOnly
        ? CATEGORIES.filter((c) => !DEVICE.has(c) || all.steps.some((s) => part(s, c) > 0))
        : CATEGORIES,
    [all, hostOnly],
  );
  const columns = useMemo(() => stepColumns(categories), [categories]);
  const { step } = state.value;
  const selectedStep =
    step === null ? null : (all.steps.find((s) => stepNumber(s.name) === step)?.name ?? null);
  const choose = (name: string): void => {
    const number = stepNumber(name);
    if (number !== null) go({ step: number === step ? null : number });
  };
  return (
    <div class="overview" aria-busy={busy}>
      <RecordingLine overview={all} />
      {hostOnly && <NoDeviceTimes overview={all} />}
      <KeyFigures all={all} now={now} step={step} />
      <div class="columns">
        <section class="wide">
          <h2>
            {texts.steps}{" "}
            <small class="muted">
              {step === null ? (
                all.steps.some((s) => stepNumber(s.name) !== null) && texts.clickOne
              ) : (
                <>
                  {texts.selected(step)}{" "}
                  <button
                    type="button"
                    class="link"
                    data-testid="clear-step"
                    onClick={() => go({ step: null })}
                  >
                    {texts.showAll}
                  </button>
                </>
              )}
            </small>
          </h2>
          <DataWarnings findings={all.provenance.warnings} figures={["steps"]} />
          {all.steps.length === 0 ? (
            <p class="muted">{texts.noSteps}</p>
          ) : (
            <>
              <StackedBars
                bars={all.steps.map((s) => barOf(s, inferred))}
                inferred={inferred}
                selected={selectedStep}
                average={all.average_step_ns}
                onSelect={choose}
              />
              <Legend
                steps={all.steps.filter((s) => step === null || stepNumber(s.name) === step)}
                inferred={inferred}
                categories={categories}
                average={all.steps.length > 1 ? all.average_step_ns : null}
              />
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
                  sort={state.value.sort}
                  defaultSort="start_ns"
                  filter={state.value.filter}
                  selected={selectedStep}
                  onSort={(sort) => go({ sort })}
                  onFilter={(filter) => go({ filter }, "replace")}
                  onOpen={(s) => choose(s.name)}
                />
              </div>
            </>
          )}
          <Averages
            all={all}
            categories={categories}
            chosen={all.steps.find((s) => s.name === selectedStep) ?? null}
          />
          <TopKernels overview={now} />
        </section>
        <section class="side">
          <TopFindings selected={selected} />
          <TotalsCard overview={now} step={step} />
          <TopOperators overview={now} />
        </section>
      </div>
      <IdleTime now={now} step={step} />
      <IdleSteps all={all} step={step} />
      <section>
        <h2>{texts.meaning(t.timelineSource.explained[all.provenance.timeline].label)}</h2>
        <TimelineSource overview={now} />
      </section>
      <div class="columns equal">
        <Facts title={texts.device} facts={all.device} testid="device-facts" />
        <Facts title={texts.run} facts={all.run} testid="run-facts" />
      </div>
    </div>
  );
}

const part = (step: Step, category: Category): number => step[`${category}_ns`];

const stepColumns = (categories: readonly Category[]): readonly Column<Step>[] => [
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
  {
    key: "start_ns",
    ...texts.columns.start,
    kind: "time",
    width: 72,
    value: (s) => s.start_ns,
    cell: (s) => (
      <StepLink name={s.name} testid="step-timeline">
        {duration(s.start_ns)}
      </StepLink>
    ),
  },
  {
    key: "duration_ns",
    ...texts.columns.duration,
    kind: "time",
    width: 74,
    additive: true,
    value: (s) => s.duration_ns,
    bound: (s) => s.duration_bound_ns,
  },
  ...categories.map(
    (category): Column<Step> => ({
      key: `${category}_ns`,
      title: LABELS[category],
      kind: "time",
      width: Math.max(72, LABELS[category].length * 7.4 + 14),
      additive: true,
      help: texts.part(LABELS[category]),
      value: (s) => part(s, category),
      bound: (s) => s[`${category}_bound_ns`],
    }),
  ),
];

function barOf(step: Step, inferred: boolean): Bar {
  const parts = Object.fromEntries(CATEGORIES.map((c) => [c, part(step, c)])) as Record<Category, number>;
  const bounds = Object.fromEntries(CATEGORIES.map((c) => [c, step[`${c}_bound_ns`]])) as Record<
    Category,
    number | null
  >;
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
  const { kernel_bounded_ns: bounded, communication_host_ns: hosted } = step;
  return {
    kernel: { inferred: step.kernel_ns - bounded, bounded },
    memcpy: { inferred: step.memcpy_ns },
    memset: { inferred: step.memset_ns },
    communication: { measured: hosted, inferred: step.communication_ns - hosted },
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
        const ns = steps.reduce((sum, s) => sum + part(s, c), 0);
        return (
          <li
            key={c}
            data-key={c}
            data-value={ns}
            class={ns === 0 ? "muted none" : ""}
            title={exactDuration(ns)}
          >
            {looksIn(steps, c, inferred).map((look) => (
              <i key={look} class={`swatch ${look}`} style={{ "--fill": color(c) }} />
            ))}
            {LABELS[c]} <b>{percent(total > 0 ? ns / total : null)}</b>{" "}
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
