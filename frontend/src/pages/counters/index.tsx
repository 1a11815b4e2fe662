// The page of the counters that the trace records: all of them, or one by kernel or by step.
import type { CounterOfKernel, CounterOfStep, CounterRow, Counters as Result } from "../../api/types";
import { tableInUrl } from "../../state/table-in-url";
import { go, state } from "../../state/url";
import { traceOf, useLatest, useView } from "../../state/use-result";
import { t } from "../../i18n";
import { Segmented } from "../../widgets/controls/segmented";
import { field, type Column } from "../../widgets/table/columns";
import { Table } from "../../widgets/table/table";
import type { PageProps } from "../page-props";
import { amount } from "../shared/counter-columns";
import { Show } from "../shared/load-states";

const texts = t.counters;
const heads = texts.columns;
const TABS = ["counters", "kernels", "steps"] as const;
type Tab = (typeof TABS)[number];

export function Counters({ selected }: PageProps) {
  const { counter } = state.value;
  const latest = useLatest(useView("counters", selected, { counter }), traceOf(selected.place));
  return (
    <div class="fill" aria-busy={latest.isStale}>
      <Show resource={latest}>{(result) => <Tables result={result} />}</Show>
    </div>
  );
}

function Tables({ result }: { result: Result }) {
  if (result.rows.length === 0)
    return (
      <div data-testid="no-counters">
        <p>{texts.none}</p>
        <p class="muted">{texts.noneHelp}</p>
      </div>
    );
  const tab: Tab = TABS.find((one) => one === state.value.group) ?? "counters";
  const common = { ...tableInUrl(), children: <Tabs result={result} tab={tab} /> };
  switch (tab) {
    case "counters":
      return (
        <Table
          {...common}
          {...texts.nouns.counter}
          name="counters"
          columns={COUNTERS}
          rows={result.rows}
          rowKey={(r) => String(r.counter)}
          defaultSort="name"
          onOpen={(r) => show({ counter: r.counter, group: result.kernels.length > 0 ? "kernels" : "steps" })}
        />
      );
    case "kernels":
      return (
        <Table
          {...common}
          {...texts.nouns.kernel}
          name="counter-kernels"
          columns={KERNELS}
          rows={result.kernels}
          rowKey={(r) => r.name}
          defaultSort="-device_ns"
        />
      );
    case "steps":
      return (
        <Table
          {...common}
          {...texts.nouns.step}
          name="counter-steps"
          columns={STEPS}
          rows={result.steps}
          rowKey={(r) => r.step}
          defaultSort="step"
        />
      );
  }
}

/** Another table, or another counter; the order and the filter were those of the table before. */
const show = (to: { counter?: number; group?: Tab | null }): void => go({ ...to, sort: null, filter: null });

function Tabs({ result, tab }: { result: Result; tab: Tab }) {
  const { tabs } = texts;
  return (
    <>
      <Segmented
        label={texts.table}
        value={tab}
        onPick={(to: Tab) => show({ group: to === "counters" ? null : to })}
        choices={[
          { value: "counters", label: tabs.counters },
          {
            value: "kernels",
            label: tabs.kernels,
            disabled: result.kernels.length === 0 && tab !== "kernels",
            title: result.kernels.length === 0 ? tabs.noKernels : tabs.kernelsHelp,
          },
          { value: "steps", label: tabs.steps, title: tabs.stepsHelp },
        ]}
      />
      {tab !== "counters" && (
        <select
          aria-label={texts.counter}
          data-testid="counter"
          value={String(result.counter)}
          onChange={(e) => show({ counter: Number(e.currentTarget.value) })}
        >
          {result.rows.map((row) => (
            <option key={row.counter} value={String(row.counter)}>
              {row.name}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

const COUNTERS: readonly Column<CounterRow>[] = [
  field("name", heads.name, "text", 220, { full: (r) => r.name }),
  field("process", heads.process, "text", 132, { full: (r) => r.process }),
  field("values", heads.values, "count", 76),
  field("interval_ns", heads.interval, "time", 84),
  amount("mean", heads.mean, (r) => r.mean),
  amount("min", heads.min, (r) => r.min),
  amount("max", heads.max, (r) => r.max),
  amount("busy_mean", heads.busy, (r) => r.busy_mean),
  amount("idle_mean", heads.idle, (r) => r.idle_mean),
];

const KERNELS: readonly Column<CounterOfKernel>[] = [
  field("name", heads.kernel, "text", 320, { full: (r) => r.name }),
  field("calls", heads.calls, "count", 76, { additive: true }),
  field("device_ns", heads.device, "time", 92, { additive: true }),
  amount("mean", heads.mean, (r) => r.mean),
  field("samples", heads.samples, "count", 92, { additive: true }),
];

const STEPS: readonly Column<CounterOfStep>[] = [
  field("step", heads.step, "text", 160),
  field("length_ns", heads.length, "time", 92),
  amount("mean", heads.mean, (r) => r.mean),
  amount("min", heads.min, (r) => r.min),
  amount("max", heads.max, (r) => r.max),
];
