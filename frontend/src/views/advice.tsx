// What to mend first: findings by cause, what each would save, how that is known, and its events.
import type { AdviceTable as Result, AdviceRow, Asked } from "../api";
import { count, duration, exactDuration, percent, plural } from "../base/format";
import { useView } from "../load";
import { go, state } from "../state";
import { CsvButton } from "../widgets/csvbutton";
import { Figure } from "../widgets/figure";
import { Segmented } from "../widgets/segmented";
import { ShareBar } from "../widgets/sharebar";
import { MARKS } from "./best";
import { Mark } from "./doubts";
import { Instance } from "./instance";
import { linkProps } from "./link";
import type { PageProps } from "./page";
import { Show } from "./status";

export function Advice({ selected }: PageProps) {
  return <Show resource={useView("advice", selected, {})}>{(result) => <Page result={result} ranks={selected.run?.workers.length ?? 1} />}</Show>;
}

type Cause = AdviceRow["cause"];

const CAUSES: Readonly<Record<Cause, { title: string; short: string }>> = {
  input: { title: "Data comes late", short: "Input" },
  launching: { title: "The host feeds the device too slowly", short: "Launching" },
  waiting: { title: "Host and device wait for each other", short: "Waiting" },
  device: { title: "Work on the device that could be less", short: "Device" },
  communication: { title: "Communication between ranks", short: "Communication" },
  memory: { title: "Memory", short: "Memory" },
  fallback: { title: "Operators without a kernel of their own", short: "Fallback" },
  recording: { title: "What a better profile would tell", short: "Recording" },
};

function Page({ result, ranks }: { result: Result; ranks: number }) {
  const aside = new Set(state.value.aside?.split(",") ?? []);
  const only = state.value.group;
  const shown = result.rows.filter((r) => !aside.has(r.rule) && (only === null || r.cause === only));
  const away = result.rows.filter((r) => aside.has(r.rule));
  const causes = result.causes.filter((c) => shown.some((r) => r.cause === c.cause));
  return (
    <div class="mend">
      <KeyFigures result={result} />
      {result.rows.length > 0 && (
        <div class="toolbar">
          <Segmented label="Cause" value={only ?? "all"} onPick={(c) => go({ group: c === "all" ? null : c, selected: null })} choices={[
            { value: "all", label: "All", title: "Findings of all causes" },
            ...result.causes.map((c) => ({ value: c.cause, label: CAUSES[c.cause as Cause].short, title: CAUSES[c.cause as Cause].title })),
          ]} />
          {away.length > 0 && (
            <span class="muted" data-testid="aside" data-value={away.length}>
              {plural(away.length, "finding")} put aside <button type="button" class="link" data-testid="bring-back" onClick={() => go({ aside: null })}>Bring back</button>
            </span>
          )}
        </div>
      )}
      {ranks > 1 && <p class="muted" data-testid="one-of-ranks" data-value={ranks}>This is one of {count(ranks)} ranks. <a {...linkProps({ view: "distributed" })}>Distributed</a> compares them, and says which one the others wait for.</p>}
      {result.rows.length === 0 && <Nothing result={result} />}
      {causes.map((c) => (
        <section key={c.cause} data-testid="cause" data-key={c.cause} data-value={c.saving_ns ?? ""}>
          <h2>{CAUSES[c.cause as Cause].title} <small class="muted">{c.saving_ns !== null && `${percent(c.saving_share)} of the time`}</small></h2>
          {shown.filter((r) => r.cause === c.cause).map((row, i) => <Finding key={`${row.rule}/${i}`} row={row} result={result} aside={aside} />)}
        </section>
      ))}
      <Questions asked={result.asked} />
    </div>
  );
}

function KeyFigures({ result }: { result: Result }) {
  const { step } = state.value;
  const known = result.rows.filter((r) => r.saving_ns !== null).length;
  const judged = step === null ? plural(result.steps, "step") : `step ${step}`;
  const answered = result.asked.filter((a) => a.answer === "found" || a.answer === "nothing").length;
  return (
    <div class="figures-row">
      <Figure name="saving_share" label="Could be saved" exact={result.saving_share} unit="of 1" value={known ? percent(result.saving_share) : "–"}
        note={known ? `of ${judged}, at most` : "no saving is known"} help="All findings together. No instant is counted twice, so this is never more than the steps take." />
      <Figure name="saving_ns" label="Per step" exact={result.saving_ns} unit="ns, all judged steps" value={known ? duration(result.saving_ns / Math.max(1, result.steps)) : "–"}
        note={`of ${duration(result.window_ns / Math.max(1, result.steps))}`} help="The savings of all findings by the number of judged steps." />
      <Figure name="findings" label="Findings" exact={result.rows.length} unit="findings" value={count(result.rows.length)}
        note={`${count(result.rows.filter((r) => r.severity === "high").length)} high`} help="High: 10 % of the time or more; medium: 3 %; low: less. A note has no known saving." />
      <Figure name="asked" label="Rules asked" exact={answered} unit="rules" value={`${count(answered)} of ${count(result.asked.length)}`}
        note={answered < result.asked.length ? "the profile lacks what others read" : "all of them"} help="Rules read operators, device times, shapes, stacks, memory: below stands which were asked and what they answered." />
    </div>
  );
}

function Nothing({ result }: { result: Result }) {
  const silent = result.asked.filter((a) => a.answer === "not_asked").length;
  return (
    <div class="allclear" data-testid="nothing-found">
      <p><b>Nothing to mend was found.</b></p>
      <p class="muted">{plural(result.asked.length - silent, "rule")} looked and found nothing worth half a percent of the time{silent > 0 && `; ${count(silent)} could not be asked: the profile lacks what they read`}.</p>
    </div>
  );
}

function Finding({ row, result, aside }: { row: AdviceRow; result: Result; aside: ReadonlySet<string> }) {
  const open = state.value.selected === row.rule;
  const mark = MARKS[row.severity];
  const inferred = result.provenance.timeline === "inferred";
  return (
    <article class={open ? "finding open" : "finding"} data-testid="finding" data-key={row.rule} data-severity={row.severity} data-value={row.saving_ns ?? ""}>
      <button type="button" class="headline" aria-expanded={open} onClick={() => go({ selected: open ? null : row.rule }, "replace")}>
        <Mark severity={mark.shape} word={mark.word} />
        <span class="title">{row.title}</span>
        {row.saving_share !== null && <ShareBar share={row.saving_share} category="other" inferred={inferred} />}
        <span class="saving" title={row.saving_ns === null ? "No saving is known" : `${exactDuration(row.saving_ns)} of ${exactDuration(result.window_ns)}`}>
          {row.saving_ns === null ? "" : `−${percent(row.saving_share)}`}
        </span>
      </button>
      {open && <Details row={row} aside={aside} />}
    </article>
  );
}

function Details({ row, aside }: { row: AdviceRow; aside: ReadonlySet<string> }) {
  const put = [...aside, row.rule].filter(Boolean).join(",");
  return (
    <div class="body">
      <p>{row.explanation}</p>
      <dl class="facts">
        <Fact name="To mend">{row.fix}</Fact>
        {row.source !== null && <Fact name="Where"><code data-testid="source">{row.source}</code></Fact>}
        {row.saving_ns !== null && (
          <Fact name="Saves">
            <span title={exactDuration(row.saving_per_step_ns)}>{duration(row.saving_per_step_ns)} per step, {percent(row.saving_share)}</span>
            {row.shared_ns !== null && row.shared_ns > 0 && <span class="muted"> and {duration(row.shared_ns)} in all that other findings count already</span>}
          </Fact>
        )}
        <Fact name="How computed">{row.how}</Fact>
        <Fact name="Confidence">{row.confidence}{row.lacks.length > 0 && <span class="muted">; the profile lacks {row.lacks.join("; ")}</span>}</Fact>
        {row.evidence.length > 0 && (
          <Fact name={row.events > row.evidence.length ? `${count(row.evidence.length)} of ${count(row.events)} events` : "Events"}>
            <ul class="examples">{row.evidence.map((e) => (
              <li key={`${e.table}/${e.row}`}>
                <Instance example={e} />
                {e.table !== "memory" && <> <a class="small" {...linkProps({ view: "timeline", item: `${e.table}:${e.row}` })} data-testid="show-on-timeline">timeline</a></>}
              </li>
            ))}</ul>
          </Fact>
        )}
        <Fact name="Known from"><span class="muted">{row.reference}</span></Fact>
      </dl>
      <button type="button" class="quiet" data-testid="put-aside" onClick={() => go({ aside: put, selected: null }, "replace")} title="Hide this finding; the address keeps it so">Put aside</button>
    </div>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return <div data-key={name}><dt>{name}</dt><dd>{children}</dd></div>;
}

const ANSWERS: Readonly<Record<Asked["answer"], string>> = {
  found: "found something", nothing: "nothing found", not_asked: "could not be asked", failed: "failed: please report it",
};

/** All rules, so that silence can be told from not having looked. */
function Questions({ asked }: { asked: readonly Asked[] }) {
  return (
    <details>
      <summary data-testid="all-rules">What was looked for</summary>
      <div class="withcsv">
      <CsvButton name="asked" rows={asked} />
      <table class="plain" data-testid="asked" data-rows={asked.length}>
        <thead><tr><th scope="col">Rule</th><th scope="col">Cause</th><th scope="col">Answer</th><th scope="col">The profile lacks</th></tr></thead>
        <tbody>{asked.map((a) => (
          <tr key={a.rule} data-key={a.rule} data-value={a.answer}><td>{a.title}</td><td>{CAUSES[a.cause].short}</td><td>{ANSWERS[a.answer]}</td><td class="muted">{a.lacks.join("; ")}</td></tr>
        ))}</tbody>
      </table>
      </div>
    </details>
  );
}
