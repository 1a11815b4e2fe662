// Two traces side by side: what to compare with, what the step's change is made of, and a table.
import type { Diff as Result, DiffFigure, DiffRow, Overview } from "../api";
import { DEVICE, LABELS, type Category } from "../base/color";
import { duration, exactDuration, percent, plural, signedDuration } from "../base/format";
import { useDiff, useView } from "../load";
import { baseOf, type Selected } from "../place";
import { go, state } from "../state";
import { Changes, type Change } from "../widgets/changes";
import { Figure } from "../widgets/figure";
import { Picker } from "../widgets/picker";
import { rankChoices, runChoices, spanChoices, stepChoices } from "./choices";
import { PeakFigure } from "./diffmemory";
import { DiffTable, KINDS, linkOf, WORDS, type By, type Shown } from "./difftable";
import { linkProps } from "./link";
import type { ChoosingProps } from "./page";
import { Show } from "./status";

export function Diff({ selected, runs }: ChoosingProps) {
  const other = baseOf(runs, state.value, selected);
  if (!other) return (
    <section class="state" data-testid="no-base">
      <h2>There is nothing to compare with</h2>
      <p>This logdir has one trace only. Put another run's directory into it, or compare two steps:{" "}
        <button type="button" class="link" onClick={() => go({ basespan: selected.place.span }, "replace")}>choose them</button>.</p>
      <p class="muted">On the command line the two may be anywhere: <code>tb-privateuse1 view diff NEW --base OLD</code>.</p>
    </section>
  );
  return <Compared selected={selected} other={other} runs={runs} />;
}

function Compared({ selected, other, runs }: Pick<ChoosingProps, "selected" | "runs"> & { other: Selected }) {
  const { group, by: time } = state.value;
  const shown: Shown = group === "steps" || group === "memory" ? group : (KINDS.find((k) => k === group) ?? "operators");
  const by: By = shown === "steps" || shown === "memory" ? "operators" : shown;
  const resource = useDiff(selected, other, { by, time: time === "device" || time === "host" ? time : "best" });
  const steps = useView("overview", other, {}, null);
  const overview = steps.loaded.status === "ready" ? steps.loaded.value : null;
  return (
    <div class="diff fill">
      <div class="basebar" data-testid="base">
        <span class="muted">compared with</span>
        <Picker name="Run" testid="baserun-picker" value={other.place.run} choices={runChoices(runs)} onPick={(v) => go({ base: v as string })} />
        <Picker name="Rank" testid="baserank-picker" value={other.place.rank} choices={rankChoices(other)} onPick={(v) => go({ base: other.place.run, baserank: v as number })} />
        <Picker name="Span" testid="basespan-picker" value={other.place.span} choices={spanChoices(other.worker)} onPick={(v) => go({ base: other.place.run, baserank: other.place.rank, basespan: v as number })} />
        <StepPicker overview={overview} other={other} />
        <a {...linkProps(swapped(selected, other))} data-testid="swap" title="What was the base becomes what is compared">Swap</a>
      </div>
      <Show resource={resource}>{(result) => <Page result={result} shown={shown} />}</Show>
    </div>
  );
}

function StepPicker({ overview, other }: { overview: Overview | null; other: Selected }) {
  const { step } = other.place;
  const choices = overview ? stepChoices(overview) : [{ value: step, label: step === null ? "all" : String(step) }];
  return <Picker name="Step" testid="basestep-picker" value={step} choices={choices}
    onPick={(v) => go({ base: other.place.run, baserank: other.place.rank, basespan: other.place.span, basestep: v as number | null })} />;
}

function swapped({ place }: Selected, other: Selected) {
  const { run, rank, span, step } = other.place;
  return { run, rank, span, step, base: place.run, baserank: place.rank, basespan: place.span, basestep: place.step };
}

function Page({ result, shown }: { result: Result; shown: Shown }) {
  const [whole, ...parts] = result.figures;
  const by = shown === "steps" || shown === "memory" ? "operators" : result.by;
  return (
    <>
      {result.notes.length > 0 && (
        <aside class="notice" data-kind="host_only">
          {result.notes.map((n) => <p key={n.code} data-testid="diff-note" data-code={n.code}><b>{n.message}</b> {n.hint}</p>)}
        </aside>
      )}
      {whole && <Key whole={whole} result={result} />}
      <div class="columns equal">
        <section>
          <h2>What the step's change is made of <small class="muted">on average; they sum to it</small></h2>
          <Changes testid="part-changes" rows={parts.filter((p) => p.base_ns || p.now_ns).map((p) => ofFigure(p, isInferred(result)))} />
        </section>
        <section>
          <h2>The largest changes <small class="muted">of {by}, by {result.time} time per step</small></h2>
          <Changes testid="row-changes" rows={result.rows.filter((r) => r.change_ns !== 0).slice(0, MOST).map((r) => ofRow(r, result))} />
          {result.rows.every((r) => r.change_ns === 0) && <p class="muted" data-testid="no-change">None: {result.rows.length ? "both take the same" : "there is nothing to compare"}.</p>}
        </section>
      </div>
      <DiffTable key={shown} result={result} shown={shown} />
    </>
  );
}

const MOST = 8;

function Key({ whole, result }: { whole: DiffFigure; result: Result }) {
  const total = result.now_total_ns - result.base_total_ns;
  const of = (n: number): string => (n === 1 ? "1 step" : `${plural(n, "step")}, on average`);
  return (
    <div class="figures-row">
      <Figure name="base_ns" label="Base step" value={duration(whole.base_ns)} exact={whole.base_ns} unit="ns" help="The mean of the base's complete steps." note={of(result.base_steps)} />
      <Figure name="now_ns" label="Step" value={duration(whole.now_ns)} exact={whole.now_ns} unit="ns" help="The mean of the complete steps of what is compared." note={of(result.now_steps)} />
      <Figure name="change_ns" label="Change" value={signedDuration(whole.change_ns)} exact={whole.change_ns} unit="ns" help="The difference of the two." note={`${percent(whole.change_share)}, ${said(whole)}`} />
      <Figure name="total_change_ns" label={`Change of ${result.time} time`} value={signedDuration(total)} exact={total} unit="ns" help={`From ${exactDuration(result.base_total_ns)} to ${exactDuration(result.now_total_ns)} per step: all rows of the table`}
        note={`${duration(result.base_total_ns)} → ${duration(result.now_total_ns)}`} />
      <PeakFigure result={result} />
    </div>
  );
}

function said({ verdict, noise_ns, bound_ns }: Pick<DiffFigure, "verdict" | "noise_ns" | "bound_ns">): string {
  const errors = [noise_ns ? `± ${duration(noise_ns)} by the spread of steps` : "", bound_ns ? `± ${duration(bound_ns)} by error bounds` : ""].filter(Boolean);
  return [WORDS[verdict], ...errors].join(", ");
}

const isSure = (verdict: DiffFigure["verdict"]): boolean => verdict === "longer" || verdict === "shorter";

function errorOf({ noise_ns, bound_ns }: Pick<DiffFigure, "noise_ns" | "bound_ns">): number | null {
  return bound_ns === null ? null : bound_ns + (noise_ns ?? 0);
}

function isInferred(result: Result): boolean {
  return [result.provenance, result.base].some((p) => p.timeline === "inferred");
}

function ofFigure(part: DiffFigure, inferred: boolean): Change {
  const label = LABELS[part.name as Category] ?? part.name;
  return {
    key: part.name, label, ns: part.change_ns, error: errorOf(part), sure: isSure(part.verdict), word: WORDS[part.verdict], certainty: part.verdict, inferred: inferred && DEVICE.has(part.name as Category),
    title: `${label}: from ${duration(part.base_ns)} to ${duration(part.now_ns)}, ${said(part)}`,
  };
}

function ofRow(row: DiffRow, result: Result): Change {
  const label = row.detail && result.by === "shapes" ? `${row.name} ${row.detail}` : row.name;
  return {
    key: label, label, ns: row.change_ns, error: errorOf(row), sure: isSure(row.verdict), word: row.status === "both" ? WORDS[row.verdict] : row.status, certainty: row.status === "both" ? row.verdict : row.status, inferred: isInferred(result) && result.time === "device",
    title: `${label}: from ${duration(row.base_ns)} to ${duration(row.now_ns)}, ${said(row)}`,
    ...linkOf(row, result.by),
  };
}
