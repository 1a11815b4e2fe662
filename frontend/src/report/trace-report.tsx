// The report of one trace: verdict, account and issues first, then what they rest on.
import { useMemo } from "preact/hooks";
import type { HotspotTable, Overview, PartFailure, Roofline, TraceReport as Trace } from "../api/types";
import { count } from "../lib/format";
import { RankChart } from "../pages/distributed";
import { OpenCollectives } from "../pages/distributed/open-collectives";
import { RankFindings } from "../pages/distributed/rank-findings";
import { Culprits } from "../pages/distributed/culprits";
import { Notes } from "../pages/distributed/notes";
import { Averages } from "../pages/overview/averages";
import { DeviceUse } from "../pages/overview/device-use";
import { HotspotRows, measureOf } from "../pages/overview/hotspots";
import { IdleBefore } from "../pages/overview/idle-before";
import { KeyFigures } from "../pages/overview/key-figures";
import { stepSeries } from "../pages/overview/step-series";
import { StepChart } from "../pages/overview/steps";
import { TimeAccount } from "../pages/overview/time-account";
import { VerdictLine } from "../pages/overview/verdict-line";
import { Chart, Summary } from "../pages/roofline";
import { keyOf } from "../pages/roofline/points";
import { DistanceBar } from "../pages/roofline/distance-bar";
import { DeviceTimes } from "../pages/recording/device-times";
import { DataWarnings } from "../pages/shared/data-warnings";
import { Facts, TotalsCard } from "../pages/shared/cards";
import { Findings } from "../pages/shared/load-states";
import { NoDeviceTimes } from "../pages/shared/no-device-times";
import { RecordingLine } from "../pages/shared/recording-line";
import { CATEGORIES } from "../lib/color";
import { WindowContext, windowsOf } from "../widgets/window-context";
import { t } from "../i18n";
import { report as texts } from "../i18n/report";
import type { ReportData } from "./data";
import { Header, Part, PartFailures, PlaceLine, type PartName } from "./header";
import { Issues, TopIssues } from "./issues";
import { FilesTable, Provenance } from "./provenance";
import { ReportTimeline } from "./timeline";
import { showOnTimeline } from "./ways";
import "../pages/overview/overview.css";

export function TraceReport({ data, trace }: { data: ReportData; trace: Trace }) {
  const { overview, advice, failures } = trace;
  const parts = partsOf(trace);
  return (
    <WindowContext.Provider value={windowsOf(overview, {})}>
      <Header brand={texts.brand} title={data.title} parts={parts}>
        <PlaceLine place={trace.place} overview={overview} window={overview?.provenance.window} />
      </Header>
      <main>
        <First trace={trace} />
        {parts.includes("ranks") && <Ranks trace={trace} />}
        <Part name="time">
          <PartFailures failures={failures} part="time" />
          <Hotspots tables={trace.hotspots} overview={overview} />
        </Part>
        {parts.includes("roofline") && <RooflinePart result={trace.roofline} failures={failures} />}
        <Part name="timeline">
          {failed(trace, "timeline") ? (
            <PartFailures failures={failures} part="timeline" />
          ) : (
            <ReportTimeline data={data} place={trace.place} />
          )}
        </Part>
        {overview && parts.includes("steps") && <Steps trace={trace} overview={overview} />}
        <Part name="issues" note={advice && texts.issuesNote(advice.rows.length)}>
          <PartFailures failures={failures} part="issues" />
          {advice && <Issues advice={advice} />}
        </Part>
        <Recording trace={trace} />
        <Provenance data={data}>
          <FilesTable title={texts.files} files={trace.place.files} />
        </Provenance>
      </main>
    </WindowContext.Provider>
  );
}

function partsOf(trace: Trace): PartName[] {
  const steps = trace.overview && trace.overview.steps.length > 1;
  return [
    "summary",
    ...(trace.distributed || failed(trace, "ranks") ? (["ranks"] as const) : []),
    "time",
    ...(trace.roofline || failed(trace, "roofline") ? (["roofline"] as const) : []),
    "timeline",
    ...(steps ? (["steps"] as const) : []),
    "issues",
    "recording",
    "provenance",
  ];
}

const failed = (trace: Trace, part: PartFailure["part"]): boolean =>
  trace.failures.some((one) => one.part === part);

/** What a reader sees first: the verdict, the key figures, where time goes, what to fix. */
function First({ trace: { overview, step_counts: counts, advice, failures } }: { trace: Trace }) {
  return (
    <section class="reportpart overview" id="summary" data-testid="part-summary">
      <h2 class="unseen">{texts.parts.summary}</h2>
      <PartFailures failures={failures} part="summary" />
      {overview && (
        <div>
          <VerdictLine overview={overview} />
          <RecordingLine overview={overview} />
          {overview.failures.length > 0 && <Findings findings={overview.failures} />}
        </div>
      )}
      {overview?.provenance.timeline === "none" && <NoDeviceTimes overview={overview} />}
      {overview && counts && <KeyFigures all={overview} now={overview} step={null} counts={counts} />}
      <div class={overview?.account ? "columns first" : ""}>
        {overview && counts && <TimeAccount now={overview} step={null} counts={counts} />}
        {advice && <TopIssues advice={advice} />}
      </div>
    </section>
  );
}

function Ranks({ trace: { distributed: result, place, failures } }: { trace: Trace }) {
  if (!result)
    return (
      <Part name="ranks">
        <PartFailures failures={failures} part="ranks" />
      </Part>
    );
  return (
    <Part name="ranks">
      <OpenCollectives rows={result.open_collectives} />
      <Notes result={result} />
      <Culprits result={result} />
      <RankChart result={result} rank={place.rank} step={null} onSelect={() => undefined} />
      <RankFindings rows={result.advice} inferred={result.provenance.timeline === "inferred"} />
    </Part>
  );
}

/** The tables that the overview has one at a time, all of them. */
function Hotspots({ tables, overview }: { tables: readonly HotspotTable[]; overview: Overview | null }) {
  return (
    <div class="columns equal report-tables">
      {tables.map(({ by, result }) => (
        <section key={by} data-testid={`hotspots-${by}`} data-value={result.step_ns}>
          <h3>
            {t.hotspots.groups[by].label} <small class="muted">{measureOf(result)}</small>
          </h3>
          <HotspotRows result={result} by={by} />
        </section>
      ))}
      {overview && (
        <>
          <IdleBefore now={overview} />
          <TotalsCard overview={overview} step={null} />
          <DeviceUse now={overview} step={null} />
        </>
      )}
    </div>
  );
}

interface RooflineProps {
  result: Roofline | null;
  failures: readonly PartFailure[];
}

function RooflinePart({ result, failures }: RooflineProps) {
  return (
    <Part name="roofline">
      <PartFailures failures={failures} part="roofline" />
      {result && <RooflineChart result={result} />}
    </Part>
  );
}

function RooflineChart({ result }: { result: Roofline }) {
  const shown = useMemo(() => new Set(result.rows.map(keyOf)), [result]);
  const isEmpty = result.rows.every((row) => row.flops_per_byte === null);
  return (
    <div class="roofline">
      <p class="muted facts">
        <Summary result={result} />
      </p>
      <DistanceBar distances={result.distances} inferred={result.provenance.timeline === "inferred"} />
      {isEmpty ? (
        <p class="muted">{result.modeled.hint ?? texts.noRoofline}</p>
      ) : (
        <Chart result={result} shown={shown} selected={null} onSelect={() => undefined} hasTable={false} />
      )}
    </div>
  );
}

function Steps({ trace: { step_counts: counts }, overview }: { trace: Trace; overview: Overview }) {
  const series = useMemo(() => stepSeries(overview), [overview]);
  const all = counts ? counts.complete + counts.incomplete + counts.primed : overview.steps.length;
  const show = (name: string): void => {
    const step = overview.steps.find((one) => one.name === name);
    if (step) showOnTimeline({ start: step.start_ns, stop: step.start_ns + step.duration_ns });
  };
  const some = overview.steps.length < all && texts.steps(count(overview.steps.length), count(all));
  return (
    <Part name="steps" note={some}>
      <DataWarnings findings={overview.provenance.warnings} figures={["steps"]} />
      <StepChart all={overview} series={series} selected={null} onSelect={show} />
      <Averages all={overview} categories={CATEGORIES} chosen={null} />
    </Part>
  );
}

function Recording({ trace: { overview, method, failures } }: { trace: Trace }) {
  const warnings = overview?.provenance.warnings ?? [];
  return (
    <Part name="recording">
      <PartFailures failures={failures} part="recording" />
      {method && <DeviceTimes result={method} />}
      {overview && (
        <div class="columns equal">
          <Facts title={t.overview.device} facts={overview.device} testid="device-facts" head="h3" />
          <Facts title={t.overview.run} facts={overview.run} testid="run-facts" head="h3" />
        </div>
      )}
      {warnings.length > 0 && (
        <details open={warnings.length <= 3}>
          <summary>
            {texts.quality} ({count(warnings.length)})
          </summary>
          <Findings findings={warnings} />
        </details>
      )}
    </Part>
  );
}
