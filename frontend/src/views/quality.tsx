// How far the trace can be trusted: findings with examples, what is in the file, what is linked.
import { useEffect, useRef } from "preact/hooks";
import type { Extent, Finding, Quality as Result } from "../api";
import { bytes, count, duration, exactDuration, MISSING, percent } from "../base/format";
import { useView } from "../load";
import { state } from "../state";
import { CsvButton } from "../widgets/csvbutton";
import { Figure } from "../widgets/figure";
import { Mark, type Figures } from "./doubts";
import { Instance } from "./instance";
import { linkProps } from "./link";
import type { PageProps } from "./page";
import { Show } from "./status";
import { Facts } from "./summary";

export function Quality({ selected }: PageProps) {
  return <Show resource={useView("quality", selected, {})}>{(result) => <Page result={result} />}</Show>;
}

function Page({ result }: { result: Result }) {
  return (
    <div class="quality">
      <KeyFigures result={result} />
      <section>
        <h2>Findings <small class="muted">worst first</small></h2>
        {result.rows.length === 0 ? <Nothing result={result} /> : <Rows rows={result.rows} />}
      </section>
      <div class="columns equal">
        <section><h2>Recording</h2><Extents result={result} /></section>
        <section><h2>Events <small class="muted">by category, as the file spells it</small></h2><Categories result={result} /></section>
        <Facts title="How it was recorded" facts={result.facts} testid="run-facts" />
      </div>
    </div>
  );
}

function KeyFigures({ result }: { result: Result }) {
  const { step } = state.value;
  const of = step === null ? "" : `, step ${step}`;
  const lost = result.activities === null || result.linked === null ? null : result.activities - result.linked;
  return (
    <div class="figures-row">
      <Figure name="errors" label="Errors" exact={result.errors} unit="findings" value={count(result.errors)} help="A figure is wrong, or all of a kind are missing." />
      <Figure name="warnings" label="Warnings" exact={result.warnings} unit="findings" value={count(result.warnings)} help="Some of a figure is missing or doubtful." />
      <Figure name="notes" label="Notes" exact={result.notes} unit="findings" value={count(result.notes)} help="No figure is wrong, but its reader should know." />
      <Figure name="linked_share" label={`Linked${of}`} exact={result.linked_share} unit="of 1" value={percent(result.linked_share)}
        note={lost === null ? "no device times" : lost === 0 ? "all device activities" : `${count(lost)} of ${count(result.activities)} activities are not`}
        help="Device activities whose launch on the host is known; of an inferred timeline, whose operator is." />
      <Figure name="unlinked_ns" label={`Unlinked time${of}`} exact={result.unlinked_ns} unit="ns" value={duration(result.unlinked_ns)}
        note={result.unlinked_share === null ? "" : `${percent(result.unlinked_share)} of device time`} help="The durations of the activities that are not linked." />
      <Figure name="events" label="Events" exact={result.events} unit="events" value={count(result.events)} note={result.size_bytes === null ? "" : bytes(result.size_bytes)} help="What the reader took from the file." />
    </div>
  );
}

function Nothing({ result }: { result: Result }) {
  return (
    <div class="allclear" data-testid="nothing-found">
      <p><b>Nothing wrong was found.</b></p>
      <p class="muted">The file is whole, times and clocks fit together{result.activities !== null && ", every device activity is linked"}, ranges nest, nothing is told twice, and steps neither overlap nor were cut off.</p>
    </div>
  );
}

function Rows({ rows }: { rows: readonly Finding[] }) {
  return (
    <div class="withcsv">
    <CsvButton name="findings" rows={rows} />
    <table class="plain ranked" data-testid="table-findings" data-rows={rows.length}>
      <thead><tr><th scope="col">Severity</th><th scope="col">What</th><th scope="col" class="number">Count</th><th scope="col">Affects</th><th scope="col">Examples</th></tr></thead>
      <tbody>{rows.map((row, i) => <Row key={i} row={row} />)}</tbody>
    </table>
    </div>
  );
}

function Row({ row }: { row: Finding }) {
  const chosen = state.value.filter === row.code;
  const element = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (chosen) element.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <tr ref={element} class={chosen ? "selected" : ""} data-code={row.code} data-severity={row.severity} data-value={row.count ?? ""}>
      <td><Mark severity={row.severity} word /></td>
      <td class="what">
        {row.message}
        {row.hint && <div class="muted">{row.hint}</div>}
        <div class="muted small"><code>{row.code}</code></div>
      </td>
      <td class="number">{row.count === null ? MISSING : count(row.count)}</td>
      <td>{row.affects.length === 0 ? MISSING : <Affects figures={row.affects} />}</td>
      <td>{row.examples.length === 0 ? MISSING : <ul class="examples">{row.examples.map((e) => <li key={`${e.table}/${e.row}`}><Instance example={e} /></li>)}</ul>}</td>
    </tr>
  );
}

const PAGES: Readonly<Record<Figures, { title: string; view: string | null }>> = {
  totals: { title: "device totals", view: "overview" },
  steps: { title: "steps", view: "overview" },
  operators: { title: "operators", view: "operators" },
  kernels: { title: "kernels", view: "kernels" },
  memory: { title: "memory", view: "memory" },
  stacks: { title: "stacks", view: null },
};

function Affects({ figures }: { figures: readonly Figures[] }) {
  if (figures.length === Object.keys(PAGES).length) return <>everything</>;
  return (
    <>
      {figures.map((f, i) => {
        const { title, view } = PAGES[f];
        return <span key={f}>{i > 0 && ", "}{view === null ? title : <a {...linkProps({ view })}>{title}</a>}</span>;
      })}
    </>
  );
}

/** When host and device were recorded, on one axis. */
function Extents({ result }: { result: Result }) {
  const whole = Math.max(1, result.duration_ns);
  const inferred = result.provenance.timeline === "inferred" ? "inferred" : "";
  const row = (label: string, extent: Extent | null, fill: string, look = "") => (
    <tr data-key={label}>
      <th scope="row">{label}</th>
      {extent === null ? <td class="muted" colSpan={2}>nothing recorded</td> : (
        <>
          <td class="extent"><span class={look} style={{ left: `${(100 * extent.start_ns) / whole}%`, width: `${(100 * (extent.end_ns - extent.start_ns)) / whole}%`, "--fill": fill }} /></td>
          <td class="number" title={`${exactDuration(extent.start_ns)} to ${exactDuration(extent.end_ns)}`}>{duration(extent.start_ns)} to {duration(extent.end_ns)}</td>
        </>
      )}
    </tr>
  );
  const told = [{ of: "host", ...result.host }, { of: "device", ...result.device }];
  return (
    <div class="withcsv">
      <CsvButton name="extents" rows={told} />
      <table class="extents" data-testid="extents"><tbody>{row("Host", result.host, "var(--cpu)")}{row("Device", result.device, "var(--kernel)", inferred)}</tbody></table>
    </div>
  );
}

function Categories({ result }: { result: Result }) {
  if (result.categories.length === 0) return <p class="muted">None.</p>;
  return (
    <div class="withcsv">
    <CsvButton name="categories" rows={result.categories} />
    <table class="plain" data-testid="categories">
      <thead><tr><th scope="col">Category</th><th scope="col" class="number">Events</th><th scope="col" class="number">Share</th></tr></thead>
      <tbody>{result.categories.map((c) => (
        <tr key={c.name} data-key={c.name} data-value={c.events}><td>{c.name || "(none)"}</td><td class="number">{count(c.events)}</td><td class="number">{percent(c.events / result.events)}</td></tr>
      ))}</tbody>
    </table>
    </div>
  );
}
