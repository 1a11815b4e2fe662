// Why the device timeline is measured, inferred or missing, how well it is known, what would help.
import type { Advice, Constant, Limit, Method as Result } from "../api";
import { boundOf, count, duration, exactDuration, MISSING, percent, plural } from "../base/format";
import { useView } from "../load";
import { state } from "../state";
import { Code } from "../widgets/code";
import { CsvButton } from "../widgets/csvbutton";
import { Figure } from "../widgets/figure";
import { Mark } from "./doubts";
import { linkProps } from "./link";
import type { PageProps } from "./page";
import { EvidenceTable } from "./source";
import { Show } from "./status";

export function Method({ selected }: PageProps) {
  return <Show resource={useView("method", selected, {})}>{(result) => <Page result={result} />}</Show>;
}

function Page({ result }: { result: Result }) {
  const { timeline } = result.provenance;
  return (
    <div class="method" data-testid="method" data-timeline={timeline} data-kind={result.kind ?? ""}>
      <section>
        <h2>{TITLES[timeline]}</h2>
        <p data-testid="method-reason">{result.reason}</p>
        <Refused result={result} />
      </section>
      {result.activities !== null && <KeyFigures result={result} />}
      {result.kind !== null && (
        <section>
          <h2>What the elapsed times are</h2>
          <p data-testid="method-kind" data-value={result.kind}><b>{KINDS[result.kind] ?? result.kind}.</b> {result.kind_evidence !== result.reason && result.kind_evidence}</p>
        </section>
      )}
      {result.evidence.length > 0 && (
        <section data-testid="method-evidence">
          <Head title="How the activities are known" name="evidence" rows={result.evidence} />
          <EvidenceTable evidence={result.evidence} whole={timeline === "inferred"} />
        </section>
      )}
      {timeline === "inferred" && <Limits result={result} />}
      <Changes result={result} />
      {result.constants.length > 0 && <Constants constants={result.constants} />}
      {result.marks !== null && <Solution result={result} />}
    </div>
  );
}

const TITLES = { measured: "The device timeline was measured", inferred: "The device timeline was inferred", none: "There is no device timeline" } as const;

const KINDS: Readonly<Record<string, string>> = {
  none: "There are none",
  event: "The time between two events on the stream",
  kernel_sum: "The sum of the kernels that an operator launched",
  host: "The time of the host's own thread: no stream beside it explains them",
  coarse: "Times in steps too coarse to tell kernels apart",
  unit: "Times in the wrong unit",
};

function KeyFigures({ result }: { result: Result }) {
  const { step } = state.value;
  const of = step === null ? "" : `, step ${step}`;
  const inferred = result.provenance.timeline === "inferred";
  const typical = (ns: number | null): string => (!inferred ? "exact" : ns === null ? "unknown" : `± ${duration(ns)}`);
  return (
    <div class="figures-row">
      <Figure name="activities" label={`Activities${of}`} exact={result.activities} unit="activities" value={count(result.activities)}
        note={result.linked_share === null ? "" : `${percent(result.linked_share)} linked`} help="Kernels, copies and fills on the device." />
      <Figure name="device_ns" label={`Device time${of}`} exact={result.device_ns} unit="ns" value={duration(result.device_ns)}
        bound={boundOf(result.device_bound_ns, inferred)} note="the sum of their durations" help="The bound adds all of theirs: errors of inferred times are not independent." />
      <Figure name="median_start_bound_ns" label="Starts, typically" exact={result.median_start_bound_ns} unit="ns" value={typical(result.median_start_bound_ns)}
        note="the median bound" help="The truth is no farther away than the bound." />
      <Figure name="median_duration_bound_ns" label="Durations, typically" exact={result.median_duration_bound_ns} unit="ns" value={typical(result.median_duration_bound_ns)}
        note="the median bound" help="The truth is no farther away than the bound." />
      {inferred && <Figure name="timed" label="Timed" exact={result.timed} unit="ranges" value={count(result.timed)}
        note={`${plural(result.operators, "operator")} in the trace`} help="Operators and annotations with an elapsed device time." />}
    </div>
  );
}

function Refused({ result }: { result: Result }) {
  // What the reason says already is not said again; its hint is.
  const rows = result.refused.filter((f) => f.message !== result.reason || f.hint !== null);
  if (rows.length === 0) return null;
  return (
    <ul class="findings" data-testid="refused">
      {rows.map((f) => (
        <li key={f.code} data-code={f.code} data-severity={f.severity}>
          <div><Mark severity={f.severity} /> {f.message !== result.reason ? f.message : f.hint}</div>
          {f.message !== result.reason && f.hint && <div class="hint">{f.hint}</div>}
          <div class="small"><a {...linkProps({ view: "quality", filter: f.code })}><code>{f.code}</code></a></div>
        </li>
      ))}
    </ul>
  );
}

function Limits({ result }: { result: Result }) {
  return (
    <section>
      <Head title="What limits the accuracy" note="worst first" name="limits" rows={result.limits} />
      {result.limits.length === 0 ? <p class="muted">Nothing stands out.</p> : (
        <table class="plain ranked" data-testid="limits">
          <thead><tr><th scope="col">Limit</th><th scope="col">Why</th><th scope="col" class="number">Activities</th><th scope="col" class="number">Device time</th><th scope="col" class="number" title="The sum of the bounds that it accounts for.">Accounts for</th></tr></thead>
          <tbody>{result.limits.map((l) => <LimitRow key={l.code} limit={l} />)}</tbody>
        </table>
      )}
    </section>
  );
}

function LimitRow({ limit: l }: { limit: Limit }) {
  return (
    <tr data-key={l.code} data-value={l.bound_ns ?? ""}>
      <td>{l.title}</td>
      <td class="what">{l.message}{l.advice && <> <a href={`#advice-${l.advice}`} onClick={(e) => { e.preventDefault(); show(l.advice); }}>What helps</a></>}</td>
      <td class="number">{count(l.kernels)}</td>
      <td class="number">{percent(l.share)}</td>
      <td class="number" title={l.bound_ns === null ? "" : exactDuration(l.bound_ns)}>{l.bound_ns === null ? MISSING : `± ${duration(l.bound_ns)}`}</td>
    </tr>
  );
}

function show(code: string | null): void {
  const element = document.getElementById(`advice-${code}`);
  element?.scrollIntoView({ block: "center" });
  element?.focus({ preventScroll: true });
}

function Changes({ result }: { result: Result }) {
  if (result.advice.length === 0) return result.provenance.timeline === "none" ? <p class="muted" data-testid="no-advice">If the run used the CPU alone, nothing is missing.</p> : null;
  return (
    <section>
      <h2>What to change <small class="muted">what helps most first</small></h2>
      <ol class="plainlist advice" data-testid="advice">{result.advice.map((a) => <Change key={a.code} advice={a} />)}</ol>
    </section>
  );
}

function Change({ advice: a }: { advice: Advice }) {
  return (
    <li id={`advice-${a.code}`} data-key={a.code} tabIndex={-1}>
      <p><b>{a.title}.</b> {a.message}</p>
      {a.example !== null && <Code text={a.example} />}
    </li>
  );
}

const SOURCES: Readonly<Record<Constant["source"], string>> = {
  capture: "measured by the capture", trace: "found in this trace", assumed: "assumed",
};

function Constants({ constants }: { constants: readonly Constant[] }) {
  return (
    <section>
      <Head title="Constants of the device" name="constants" rows={constants} />
      <table class="plain" data-testid="constants">
        <thead><tr><th scope="col">Constant</th><th scope="col" class="number">Value</th><th scope="col" class="number" title="What the truth is taken to lie between.">Between</th><th scope="col">Source</th><th scope="col" class="number" title="Single values that it was found from.">Samples</th><th scope="col">Evidence</th></tr></thead>
        <tbody>
          {constants.map((c) => (
            <tr key={c.name} data-key={c.name} data-value={c.value_ns} data-source={c.source}>
              <td>{words(c.name)}</td>
              <td class="number" title={exactDuration(c.value_ns)}>{duration(c.value_ns)}</td>
              <td class="number">{range(c)}</td>
              <td class={c.source === "assumed" ? "warn" : ""}>{SOURCES[c.source]}</td>
              <td class="number">{count(c.samples)}</td>
              <td class="muted">{c.evidence}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function range({ least_ns: least, most_ns: most }: Constant): string {
  if (least === null && most === null) return MISSING;
  if (most === null) return `${duration(least)} or more`;
  return least === null ? `${duration(most)} or less` : `${duration(least)} to ${duration(most)}`;
}

function Solution({ result: r }: { result: Result }) {
  const rows: [string, number | null, string][] = [
    ["Marks", r.marks, "Events around operators: two of each."],
    ["Anchors", r.anchors, "Marks at which the host's and the device's time are known to meet."],
    ["Refuted anchors", r.refuted_anchors, "Contradicted the others and were dropped."],
    ["Late time stamps", r.late_stamps, "The host's thread was interrupted between an event and its time stamp."],
    ["Crossing marks", r.crossing, "Fit no schedule of one stream."],
    ["Durations from other recordings", r.elsewhere, r.others.length === 0 ? "Of this run; none was needed, or knew more." : `The device was seen behind there: ${r.others.join(", ")}`],
  ];
  return (
    <section>
      <Head title="The solution" name="solution" rows={rows.map(([name, value]) => ({ name, value }))} />
      <table class="plain" data-testid="solution">
        <tbody>{rows.map(([name, value, help]) => <tr key={name} data-key={name} data-value={value ?? ""}><td>{name}</td><td class="number">{count(value)}</td><td class="muted">{help}</td></tr>)}</tbody>
      </table>
    </section>
  );
}

const words = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replace(/_/g, " ");

interface HeadProps {
  title: string;
  note?: string;
  name: string;
  rows: readonly object[];
}

/** A section's title, and its table as CSV. */
function Head({ title, note, name, rows }: HeadProps) {
  return <h2 class="withcsv">{title} {note && <small class="muted">{note}</small>}<CsvButton name={name} file={`method-${name}`} rows={rows} /></h2>;
}
