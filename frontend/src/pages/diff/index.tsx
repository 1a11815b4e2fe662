// The diff page: baseline, breakdown of the change of the step, and tables.
import type { Diff as Result, DiffFigure, DiffRow, Overview } from "../../api/types";
import { DEVICE, LABELS, type Category } from "../../lib/color";
import { duration, exactDuration, relativeChange, signedDuration } from "../../lib/format";
import { useDiff, useLatest, useView } from "../../state/use-result";
import type { Selected } from "../../state/selection";
import { type BaseChoice, baseOf } from "./base";
import { go, state, type State } from "../../state/url";
import { compare } from "../../i18n/compare";
import { ChangeBars, type Change } from "../../widgets/charts/change-bars";
import { KeyFigure } from "../../widgets/controls/key-figure";
import { Picker } from "../../widgets/controls/picker";
import { MissingStreams } from "../shared/data-warnings";
import { rankChoices, runChoices, spanChoices, windowChoices } from "../shared/selector-choices";
import { instantOf, PeakFigure } from "./memory";
import { keyOf, KINDS, OTHERS, WORDS, type By, type Shown } from "./rows";
import { DiffTable } from "./tables";
import { Conditions, Parameters, Why } from "./why";
import { linkProps } from "../../state/links";
import type { ChoosingProps } from "../page-props";
import { Show } from "../shared/load-states";
import "./diff.css";

const texts = compare.diff;

export function Diff({ selected, runs }: ChoosingProps) {
  const base = baseOf(runs, state.value, selected);
  if (!base)
    return (
      <section class="state" data-testid="no-base">
        <h2>{texts.nothing}</h2>
        <p>
          {texts.oneTrace((text) => (
            <button
              type="button"
              class="link"
              onClick={() => go({ basespan: selected.place.span }, "replace")}
            >
              {text}
            </button>
          ))}
        </p>
        <p class="muted">{texts.commandLine(<code>tb-privateuse1 view diff NEW --base OLD</code>)}</p>
      </section>
    );
  return <Compared selected={selected} base={base} runs={runs} />;
}

interface ComparedProps extends Pick<ChoosingProps, "selected" | "runs"> {
  base: BaseChoice;
}

function Compared({ selected, base, runs }: ComparedProps) {
  const other = base.selected;
  const { group, by: time, alive } = state.value;
  const shown: Shown = OTHERS.find((k) => k === group) ?? KINDS.find((k) => k === group) ?? "operators";
  const by: By = KINDS.find((k) => k === shown) ?? "operators";
  const instant = shown === "memory" ? instantOf(alive) : "none";
  const diff = useDiff(selected, other, {
    by,
    time: time === "device" || time === "host" ? time : "best",
    alive_at: instant,
  });
  const latest = useLatest(diff, JSON.stringify([selected.place, other.place, by, instant]));
  return (
    <div class="diff fill" aria-busy={latest.isStale}>
      <BaseBar {...{ selected, base, runs }} />
      {other.place.rank !== selected.place.rank && (
        <p class="notice warn" data-testid="ranks-differ">
          {texts.ranksDiffer(selected.place.rank, other.place.rank)}
        </p>
      )}
      <Show resource={latest}>
        {(result) => {
          const why = base.kind === "earlier" || base.kind === "later" ? refusal(result) : null;
          return why === null ? (
            <Page {...{ result, shown, selected, other }} />
          ) : (
            <NoDefault why={why} run={other.place.run} />
          );
        }}
      </Show>
    </div>
  );
}

/** Why the nearest run is no default base: another program or device. */
function refusal({ notes, conditions }: Result): string | null {
  const program = notes.find((one) => one.code === "other_program");
  if (program) return program.message;
  const device = conditions.find(({ name, base, now }) => name === "device" && base !== null && now !== null);
  return device ? texts.otherDevice(device.base ?? "", device.now ?? "") : null;
}

function NoDefault({ why, run }: { why: string; run: string }) {
  return (
    <section class="state" data-testid="no-default-base">
      <h2>{texts.noDefault}</h2>
      <p>{texts.refused(run, why)}</p>
      <button type="button" data-testid="compare-anyway" onClick={() => go({ base: run })}>
        {texts.anyway(run)}
      </button>
    </section>
  );
}

/** What it is compared with, and the ways to change that. */
function BaseBar({ selected, base, runs }: ComparedProps) {
  const other = base.selected;
  const steps = useView("overview", other, { brief: true }, null);
  const overview = steps.loaded.status === "ready" ? steps.loaded.value : null;
  return (
    <div class="basebar" data-testid="base">
      <span class="muted">{texts.comparedWith}</span>
      <Picker
        name={texts.run}
        testid="baserun-picker"
        value={other.place.run}
        choices={runChoices(runs)}
        onPick={(v) => go({ base: v as string })}
      />
      <Picker
        name={texts.rank}
        testid="baserank-picker"
        value={other.place.rank}
        choices={rankChoices(other)}
        onPick={(v) => go({ base: other.place.run, baserank: v as number })}
      />
      <Picker
        name={texts.span}
        testid="basespan-picker"
        value={other.place.span}
        choices={spanChoices(other.worker)}
        onPick={(v) => go({ base: other.place.run, baserank: other.place.rank, basespan: v as number })}
      />
      <StepPicker overview={overview} other={other} />
      <a {...linkProps(swapped(selected, other))} data-testid="swap" title={texts.swapHelp}>
        {texts.swap}
      </a>
      <a {...linkProps(onTimeline(other))} data-testid="both-on-timeline" title={texts.onTimelineHelp}>
        {texts.onTimeline}
      </a>
      <BaseReason base={base} />
    </div>
  );
}

/** Why this base, unless it was chosen. */
function BaseReason({ base: { kind, same } }: { base: BaseChoice }) {
  if (kind === "chosen") return null;
  return (
    <span class="muted small" data-testid="base-reason" data-kind={kind}>
      {texts.baseReason(kind, same)}
    </span>
  );
}

function StepPicker({ overview, other }: { overview: Overview | null; other: Selected }) {
  const { step } = other.place;
  const choices = overview
    ? windowChoices(overview, null).filter((one) => one.value !== "all")
    : [{ value: step, label: step === null ? texts.all : String(step) }];
  return (
    <Picker
      name={texts.step}
      testid="basestep-picker"
      value={step}
      choices={choices}
      onPick={(v) =>
        go({
          base: other.place.run,
          baserank: other.place.rank,
          basespan: other.place.span,
          basestep: v as number | null,
        })
      }
    />
  );
}

/** Both recordings on the timeline, the baseline above. */
function onTimeline({ place }: Selected): Partial<State> {
  const { run, rank, span, step } = place;
  return { view: "timeline", compare: "1", base: run, baserank: rank, basespan: span, basestep: step };
}

function swapped({ place }: Selected, other: Selected) {
  const { run, rank, span, step } = other.place;
  return {
    run,
    rank,
    span,
    step,
    base: place.run,
    baserank: place.rank,
    basespan: place.span,
    basestep: place.step,
  };
}

/** What changed, and why: figures, reasons, and the classes of time. */
export function DiffSummary({ result, other }: { result: Result; other: Selected }) {
  const [whole, ...parts] = result.figures;
  return (
    <>
      {result.notes.length > 0 && (
        <aside class="notice" data-kind="host_only">
          {result.notes.map((n) => (
            <p key={n.code} data-testid="diff-note" data-code={n.code}>
              <b>{n.message}</b> {n.hint}
            </p>
          ))}
        </aside>
      )}
      <MissingStreams
        streams={[...new Set([result.base, result.provenance].flatMap((p) => p.missing_streams))]}
      />
      <Conditions conditions={result.conditions} />
      {whole && <Key whole={whole} result={result} />}
      <div class="columns equal">
        <div>
          {result.explanation && <Why why={result.explanation} other={other} />}
          <Largest result={result} most={MOST} />
        </div>
        <div>
          <Breakdown result={result} parts={parts} />
          <Parameters parameters={result.parameters} />
        </div>
      </div>
    </>
  );
}

function Page({
  result,
  shown,
  ...sides
}: {
  result: Result;
  shown: Shown;
  selected: Selected;
  other: Selected;
}) {
  return (
    <>
      <DiffSummary result={result} other={sides.other} />
      <DiffTable key={shown} result={result} shown={shown} {...sides} />
    </>
  );
}

const MOST = 5;

/** The rows of the table with the largest changes. */
export function Largest({ result, most }: { result: Result; most: number }) {
  return (
    <section>
      <h2>
        {texts.largest} <small class="muted">{texts.largestNote(result.by, result.time)}</small>
      </h2>
      <ChangeBars
        testid="row-changes"
        rows={result.rows
          .filter((r) => r.change_ns !== 0)
          .slice(0, most)
          .map((r) => ofRow(r, result))}
      />
      {result.rows.every((r) => r.change_ns === 0) && (
        <p class="muted" data-testid="no-change">
          {texts.none(result.rows.length)}
        </p>
      )}
    </section>
  );
}

/** The change of each class of time, or without these of each part of the step. */
function Breakdown({ result, parts }: { result: Result; parts: readonly DiffFigure[] }) {
  const hasAccount = result.account.length > 0;
  const figures = hasAccount ? result.account : parts.filter((p) => p.base_ns || p.now_ns);
  return (
    <section>
      <h2>
        {hasAccount ? texts.account : texts.parts} <small class="muted">{texts.partsNote}</small>
      </h2>
      <ChangeBars
        testid={hasAccount ? "account-changes" : "part-changes"}
        rows={figures.map((p) => ofFigure(p, isInferred(result)))}
      />
    </section>
  );
}

function Key({ whole, result }: { whole: DiffFigure; result: Result }) {
  const { base_total_ns: before, now_total_ns: now } = result;
  const total = before === null || now === null ? null : now - before;
  return (
    <div class="figures-row">
      <KeyFigure
        name="base_ns"
        label={texts.base.label}
        exact={whole.base_ns}
        unit="ns"
        help={texts.base.help}
        note={texts.steps(result.base_steps)}
      />
      <KeyFigure
        name="now_ns"
        label={texts.now.label}
        exact={whole.now_ns}
        unit="ns"
        help={texts.now.help}
        note={texts.steps(result.now_steps)}
      />
      <KeyFigure
        name="change_ns"
        label={texts.change.label}
        value={signedDuration(whole.change_ns)}
        exact={whole.change_ns}
        unit="ns"
        help={texts.change.help}
        note={texts.said([relativeChange(whole.change_share), certaintyOf(whole)])}
      />
      <KeyFigure
        name="total_change_ns"
        label={texts.total.label(result.time)}
        value={signedDuration(total)}
        exact={total}
        unit="ns"
        help={texts.total.help(exactDuration(result.base_total_ns), exactDuration(result.now_total_ns))}
        note={`${duration(result.base_total_ns)} → ${duration(result.now_total_ns)}`}
      />
      <PeakFigure result={result} />
    </div>
  );
}

function certaintyOf({
  verdict,
  noise_ns,
  test,
  bound_ns,
}: Pick<DiffFigure, "verdict" | "noise_ns" | "bound_ns"> & Partial<Pick<DiffFigure, "test">>): string {
  const errors = [
    noise_ns ? texts.bySpread(duration(noise_ns), test) : "",
    bound_ns ? texts.byBounds(duration(bound_ns)) : "",
  ].filter(Boolean);
  return texts.said([WORDS[verdict], ...errors]);
}

const isSure = (verdict: DiffFigure["verdict"]): boolean => verdict === "longer" || verdict === "shorter";

function errorOf({ noise_ns, bound_ns }: Pick<DiffFigure, "noise_ns" | "bound_ns">): number | null {
  return bound_ns === null ? null : bound_ns + (noise_ns ?? 0);
}

function isInferred(result: Result): boolean {
  return [result.provenance, result.base].some((p) => p.timeline === "inferred");
}

function ofFigure(part: DiffFigure, inferred: boolean): Change {
  const label = part.label ?? LABELS[part.name as Category] ?? part.name;
  return {
    key: part.name,
    label,
    ns: part.change_ns,
    error: errorOf(part),
    sure: isSure(part.verdict),
    word: WORDS[part.verdict],
    certainty: part.verdict,
    inferred: inferred && DEVICE.has(part.name as Category),
    title: texts.fromTo(label, duration(part.base_ns), duration(part.now_ns), certaintyOf(part)),
  };
}

function ofRow(row: DiffRow, result: Result): Change {
  const label = row.detail && result.by === "shapes" ? `${row.name} ${row.detail}` : row.name;
  return {
    key: row.full_name ?? label,
    label,
    ns: row.change_ns,
    error: errorOf(row),
    sure: isSure(row.verdict),
    word: row.status === "both" ? WORDS[row.verdict] : texts.statuses[row.status],
    certainty: row.status === "both" ? row.verdict : row.status,
    inferred: isInferred(result) && result.time === "device",
    title: texts.fromTo(
      row.full_name ?? label,
      duration(row.base_ns),
      duration(row.now_ns),
      certaintyOf(row),
    ),
    ...linkProps({ selected: keyOf(row) }),
  };
}
