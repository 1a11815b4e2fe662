// Iterations of serving: by phase, as bars, and each with its tokens and what the host leaves idle.
import { useMemo, useState } from "preact/hooks";
import { phaseOf } from "../../api/phases";
import type { Overview, Serving as Result, ServingIteration, ServingPhase } from "../../api/types";
import { color, type Category } from "../../lib/color";
import { boundOf, count, duration, exactDuration, percent, rate, significant } from "../../lib/format";
import { linkProps, toInterval } from "../../state/links";
import type { Latest } from "../../state/use-result";
import { serving as texts } from "../../i18n/serving";
import { StackedBars } from "../../widgets/charts/stacked-bars";
import type { Bar } from "../../widgets/charts/stacked-bars-layout";
import { field, worded, type Column } from "../../widgets/table/columns";
import { CsvButton } from "../../widgets/table/csv-button";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import { Table } from "../../widgets/table/table";
import { Card } from "../shared/card";
import "./serving.css";

const heads = texts.columns;
type Kind = ServingPhase["kind"];

const COLORS: Readonly<Record<Kind, Category>> = {
  prefill: "memcpy",
  decode: "kernel",
  mixed: "dataloader",
  unknown: "cpu",
};
const IDLE = "exposed";
const MOST_TABLE_ROWS = 8;

interface SectionProps {
  latest: Latest<Result>;
  base: Overview;
}

export function ServingSection({ latest, base }: SectionProps) {
  return (
    <Card title={texts.title} lines={12} resource={latest}>
      {(result) => <Content result={result} end={base.duration_ns} isLate={latest.isStale} />}
    </Card>
  );
}

export function Content({ result, end, isLate }: { result: Result; end: number; isLate: boolean }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const inferred = result.provenance.timeline === "inferred";
  return (
    <section data-testid="serving" data-value={result.total_rows} aria-busy={isLate}>
      <h2 class="withcsv">
        {texts.title} <small class="muted">{texts.note(result.total_rows)}</small>
        <CsvButton name="serving-phases" rows={result.phases} />
      </h2>
      {result.repeated > 0 && (
        <p class="warn" data-testid="serving-repeated">
          {texts.repeated(result.repeated)}
        </p>
      )}
      <Phases phases={result.phases} inferred={inferred} />
      <Chart result={result} inferred={inferred} chosen={chosen} onChoose={setChosen} />
      <Iterations result={result} end={end} inferred={inferred} chosen={chosen} />
      <Generations result={result} />
      <Missing result={result} />
    </section>
  );
}

function Phases({ phases, inferred }: { phases: readonly ServingPhase[]; inferred: boolean }) {
  const { phase } = texts;
  const requests = phases.some((one) => one.requests !== null);
  return (
    <table class="plain" data-testid="serving-phases">
      <HeadRow
        of={[
          phase.kind,
          numbers(phase.iterations),
          requests && numbers(phase.requests.title, phase.requests.help),
          numbers(phase.tokens),
          numbers(phase.median.title, phase.median.help),
          numbers(phase.p95.title, phase.p95.help),
          numbers(phase.rate.title, phase.rate.help),
          numbers(phase.device.title, phase.device.help),
          numbers(phase.exposed.title, phase.exposed.help),
          numbers(phase.bandwidth.title, phase.bandwidth.help),
          phase.only.title,
        ]}
      />
      <tbody>
        {phases.map((one) => (
          <tr key={one.kind} data-key={one.kind} data-value={one.time_ns}>
            <td>
              <i class="swatch measured" style={{ "--fill": color(COLORS[one.kind]) }} />
              {texts.kinds[one.kind]}
            </td>
            <td class="number">{count(one.iterations)}</td>
            {requests && <td class="number">{one.requests === null ? "–" : significant(one.requests)}</td>}
            <td class="number">{count(one.tokens)}</td>
            <Time ns={one.median_ns} bound={one.median_bound_ns} inferred={inferred} />
            <Time ns={one.p95_ns} bound={one.p95_bound_ns} inferred={inferred} />
            <td class="number">{one.token_rate === null ? "–" : tokensPerSecond(one.token_rate)}</td>
            <Share
              share={one.device_share}
              ns={one.device_ns}
              bound={one.device_bound_ns}
              inferred={inferred}
            />
            <Share
              share={one.exposed_share}
              ns={one.exposed_ns}
              bound={one.exposed_bound_ns}
              inferred={inferred}
            />
            <td class="number" title={texts.known(percent(one.bytes_share))}>
              {rate(one.bytes_per_s)}
            </td>
            <td>{phaseOf(one.kind) && <Only kind={one.kind} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const OF_WINDOW = ["overview", "roofline", "diff"] as const;

/** Pages whose figures can be of this phase alone. */
function Only({ kind }: { kind: Kind }) {
  return (
    <span class="serving-only" title={texts.phase.only.help}>
      {OF_WINDOW.map((view) => (
        <a
          key={view}
          {...linkProps({ view, window: kind, step: null })}
          data-testid="serving-only"
          data-key={view}
        >
          {texts.phase.only[view]}
        </a>
      ))}
    </span>
  );
}

const tokensPerSecond = (value: number): string =>
  `${value >= 1000 ? count(Math.round(value)) : significant(value)} /s`;

interface TimeProps {
  ns: number | null;
  bound: number | null;
  inferred: boolean;
}

/** How far off it may be: nothing of what is measured. */
const isOff = ({ bound, inferred }: Omit<TimeProps, "ns">): boolean => inferred && bound !== 0;

function Time({ ns, bound, inferred }: TimeProps) {
  return (
    <td
      class={isOff({ bound, inferred }) ? "number uncertain" : "number"}
      title={`${exactDuration(ns)} ${boundOf(bound, inferred)}`}
    >
      {duration(ns)}
    </td>
  );
}

function Share({ share, ns, bound, inferred }: TimeProps & { share: number | null }) {
  return (
    <td
      class={isOff({ bound, inferred }) ? "number uncertain" : "number"}
      title={`${exactDuration(ns)} ${boundOf(bound, inferred)}`}
    >
      {percent(share)}
    </td>
  );
}

interface ChartProps {
  result: Result;
  inferred: boolean;
  chosen: string | null;
  onChoose: (key: string | null) => void;
}

/** A bar is the time of an iteration, in the color of its phase while a device works. */
function Chart({ result: { phases, rows }, inferred, chosen, onChoose }: ChartProps) {
  const bars = useMemo(() => rows.map((row, i) => barOf(row, i, inferred)), [rows, inferred]);
  if (rows.length < 2) return null;
  const parts = [
    ...phases.map(({ kind }) => ({
      key: kind as string,
      label: texts.working(texts.kinds[kind]),
      fill: color(COLORS[kind]),
    })),
    ...(rows.some((row) => row.exposed_ns) ? [{ key: IDLE, label: texts.idle, fill: color("other") }] : []),
  ];
  return (
    <>
      <StackedBars
        bars={bars}
        parts={parts}
        hatched={new Set(inferred ? parts.map((one) => one.key) : [])}
        selected={chosen}
        average={null}
        onSelect={(key) => onChoose(key === chosen ? null : key)}
        noun={texts.iteration.noun}
        testid="serving-chart"
        picture="serving"
      />
      <ul class="legend" aria-label={texts.legend}>
        {parts.map(({ key, label, fill }) => (
          <li key={key} data-key={key}>
            <i class={`swatch ${inferred ? "inferred" : "measured"}`} style={{ "--fill": fill }} />
            {label}
          </li>
        ))}
      </ul>
    </>
  );
}

const keyOf = (row: ServingIteration): string => String(row.start_ns);

function barOf(row: ServingIteration, i: number, inferred: boolean): Bar {
  const idle = row.exposed_ns ?? 0;
  return {
    key: keyOf(row),
    label: String(i + 1),
    total: row.time_ns,
    parts: { [row.kind]: row.time_ns - idle, [IDLE]: idle },
    incomplete: false,
    ...(inferred && {
      bound: row.time_bound_ns,
      bounds: { [row.kind]: row.exposed_bound_ns, [IDLE]: row.exposed_bound_ns },
    }),
  };
}

interface IterationsProps {
  result: Result;
  end: number;
  inferred: boolean;
  chosen: string | null;
}

/** The order is the table's own: that in the address is of the steps. */
function Iterations({ result: { rows }, end, inferred, chosen }: IterationsProps) {
  const [sort, setSort] = useState<string | null>(null);
  const [filter, setFilter] = useState<string | null>(null);
  const columns = useMemo(() => columnsOf(end), [end]);
  return (
    <div
      class="steptable serving-iterations"
      style={{ "--rows": Math.min(MOST_TABLE_ROWS, rows.length + 2) }}
    >
      <Table
        name="serving"
        {...texts.iteration}
        columns={columns}
        rows={rows}
        rowKey={keyOf}
        sort={sort}
        filter={filter}
        onSort={setSort}
        onFilter={setFilter}
        defaultSort="start_ns"
        hideUniform
        inferred={inferred}
        selected={chosen}
      />
    </div>
  );
}

const columnsOf = (end: number): readonly Column<ServingIteration>[] => [
  worded("kind", heads.kind, 76, (row) => texts.kinds[row.kind], {
    full: (row) => row.reason ?? texts.kinds[row.kind],
  }),
  field("start_ns", heads.start, "time", 84, {
    cell: (row) => (
      <a {...toInterval(row.start_ns, row.start_ns + row.time_ns, end)} data-testid="serving-timeline">
        {duration(row.start_ns)}
      </a>
    ),
  }),
  field("requests", heads.requests, "count", 80),
  field("tokens", heads.tokens, "count", 72, { additive: true }),
  field("context", heads.context, "count", 80),
  field("time_ns", heads.time, "time", 80, { additive: true, bound: (row) => row.time_bound_ns }),
  field("token_ns", heads.token, "time", 84),
  field("device_ns", heads.device, "time", 96, { additive: true, bound: (row) => row.device_bound_ns }),
  field("exposed_ns", heads.exposed, "time", 96, { additive: true, bound: (row) => row.exposed_bound_ns }),
  worded("found", heads.found, 92, (row) => texts.founds[row.found]),
  field("name", heads.name, "text", 260, { full: (row) => row.name }),
];

function Generations({ result: { generations } }: { result: Result }) {
  const { generation } = texts;
  if (generations.length === 0) return null;
  return (
    <details>
      <summary data-testid="open-generations">{generation.title(generations.length)}</summary>
      <table class="plain" data-testid="generations">
        <HeadRow
          of={[
            numbers(heads.start.title),
            numbers(generation.sequences),
            numbers(generation.prompt.title, generation.prompt.help),
            numbers(generation.tokens.title, generation.tokens.help),
            numbers(generation.first.title, generation.first.help),
            numbers(generation.later.title, generation.later.help),
            numbers(generation.total),
          ]}
        />
        <tbody>
          {generations.map((one) => (
            <tr key={one.start_ns} data-key={one.start_ns}>
              <td class="number">{duration(one.start_ns)}</td>
              <td class="number">{count(one.requests)}</td>
              <td class="number">{count(one.prompt_tokens)}</td>
              <td class="number">{count(one.new_tokens)}</td>
              <td class="number">{duration(one.first_token_ns)}</td>
              <td class="number">{duration(one.later_token_ns)}</td>
              <td class="number">{duration(one.total_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function Missing({ result: { missing } }: { result: Result }) {
  if (missing.length === 0) return null;
  return (
    <details>
      <summary data-testid="open-missing">{texts.missing.title(missing.length)}</summary>
      <ul data-testid="serving-missing">
        {missing.map(({ figure, iterations, reason }) => (
          <li key={figure + reason} data-key={figure}>
            {texts.missing.line(texts.missing.figures[figure] ?? figure, iterations, reason)}
          </li>
        ))}
      </ul>
    </details>
  );
}
