// The advice page: findings by their saving, each with its evidence and fix.
import type { AdviceTable as Result, AdviceRow, RuleStatus } from "../../api/types";
import { duration, exactDuration, percent } from "../../lib/format";
import { useView } from "../../state/use-result";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { BeforeAndAfter, Trial } from "./before-and-after";
import { Fine, Open } from "./fine";
import { CsvButton } from "../../widgets/table/csv-button";
import { KeyFigure } from "../../widgets/controls/key-figure";
import { Segmented } from "../../widgets/controls/segmented";
import { Fact, Finding, rangeOf, savingOf, Unasked } from "../shared/finding-parts";
import { EventLink } from "../shared/event-link";
import { FunctionLink } from "../shared/source-link";
import { hasSteps, perStep } from "../shared/per-step";
import { linkProps } from "../../state/links";
import type { PageProps } from "../page-props";
import { Show } from "../shared/load-states";
import { HeadRow } from "../../widgets/table/head-row";

export function Advice({ selected }: PageProps) {
  return (
    <Show resource={useView("advice", selected, {})}>
      {(result) => <Page result={result} ranks={selected.run?.workers.length ?? 1} />}
    </Show>
  );
}

type Cause = AdviceRow["cause"];

const texts = t.advice;

function Page({ result, ranks }: { result: Result; ranks: number }) {
  const aside = new Set(state.value.aside?.split(",") ?? []);
  const only = state.value.group;
  const shown = result.rows.filter((r) => !aside.has(r.rule) && (only === null || r.cause === only));
  const away = result.rows.filter((r) => aside.has(r.rule)).length;
  const causes = result.causes.filter((c) => shown.some((r) => r.cause === c.cause));
  return (
    <div class="advice-list">
      <p data-testid="recording" data-key={result.recording.kind}>
        {result.recording.sentence}{" "}
        {result.recording.hint && <span class="muted">{result.recording.hint}</span>}
      </p>
      <KeyFigures result={result} />
      {result.read && (
        <p class="muted" data-testid="read">
          {result.read}
        </p>
      )}
      {result.rows.length > 0 && <Toolbar result={result} only={only} away={away} />}
      {ranks > 1 && <OneOfRanks ranks={ranks} />}
      {result.rows.length === 0 && <Nothing result={result} />}
      {causes.map((c) => (
        <section key={c.cause} data-testid="cause" data-key={c.cause} data-value={c.saving_ns ?? ""}>
          <h2>
            {texts.causes[c.cause as Cause].title}{" "}
            <small class="muted">
              {c.saving_ns !== null &&
                (c.saving_ns === 0 ? texts.nothingBehind : texts.ofTime(percent(c.saving_share)))}
            </small>
          </h2>
          {shown
            .filter((r) => r.cause === c.cause)
            .map((row, i) => (
              <OpeningFinding key={`${row.rule}/${i}`} row={row} result={result} aside={aside} />
            ))}
        </section>
      ))}
      <Fine rows={result.fine} />
      <Open rows={result.open} />
      {result.rows.length > 0 && <Unasked sentence={result.unasked} />}
      {result.missing && (
        <p class="muted" data-testid="missing">
          {result.missing}
        </p>
      )}
      <Questions asked={result.asked} />
    </div>
  );
}

/** The choice of a cause, and the way back to findings that were put aside. */
function Toolbar({ result, only, away }: { result: Result; only: string | null; away: number }) {
  return (
    <div class="toolbar">
      <Segmented
        label={texts.cause}
        value={only ?? "all"}
        onPick={(c) => go({ group: c === "all" ? null : c, selected: null })}
        choices={[
          { value: "all", label: texts.all, title: texts.allHelp },
          ...result.causes.map((c) => ({
            value: c.cause,
            label: texts.causes[c.cause as Cause].short,
            title: texts.causes[c.cause as Cause].title,
          })),
        ]}
      />
      {away > 0 && (
        <span class="muted" data-testid="aside" data-value={away}>
          {texts.putAside(away)}{" "}
          <button type="button" class="link" data-testid="bring-back" onClick={() => go({ aside: null })}>
            {texts.bringBack}
          </button>
        </span>
      )}
    </div>
  );
}

/** Only one rank was asked: a link to the findings over all of them. */
function OneOfRanks({ ranks }: { ranks: number }) {
  return (
    <p class="muted" data-testid="one-of-ranks" data-value={ranks}>
      {texts.oneOfRanks(ranks, (text) => (
        <a {...linkProps({ view: "distributed" })}>{text}</a>
      ))}
    </p>
  );
}

function KeyFigures({ result }: { result: Result }) {
  const { step } = state.value;
  const known = result.rows.filter((r) => r.saving_ns !== null).length;
  const answered = result.asked.filter((a) => a.answer === "found" || a.answer === "nothing").length;
  return (
    <div class="figures-row">
      <KeyFigure
        name="saving_share"
        label={texts.saved.label}
        exact={result.saving_share}
        unit={texts.saved.unit}
        value={known ? percent(result.saving_share) : "–"}
        note={
          known ? texts.saved.note(step, hasSteps(result.provenance) ? result.steps : 0) : texts.saved.unknown
        }
        help={texts.saved.help}
      />
      <KeyFigure
        name="saving_ns"
        label={hasSteps(result.provenance) ? texts.perStep.label : texts.perStep.labelAll}
        exact={result.saving_ns}
        unit={texts.perStep.unit}
        value={known ? duration(result.saving_ns / Math.max(1, result.steps)) : "–"}
        note={texts.perStep.note(
          duration(result.judged_net_ns / Math.max(1, result.steps)),
          result.judged_net_ns < result.judged_ns,
        )}
        help={texts.perStep.help}
      />
      <KeyFigure
        name="findings"
        label={texts.findings.label}
        exact={result.rows.length}
        unit={texts.findings.unit}
        note={texts.findings.note(result.rows.filter((r) => r.severity === "high").length)}
        help={texts.findings.help}
      />
      <KeyFigure
        name="asked"
        label={texts.rules.label}
        exact={answered}
        unit={texts.rules.unit}
        value={texts.rules.value(answered, result.asked.length)}
        note={answered < result.asked.length ? texts.rules.some : texts.rules.all}
        help={texts.rules.help}
      />
    </div>
  );
}

function Nothing({ result }: { result: Result }) {
  const looked = result.asked.filter((a) => a.answer !== "not_asked").length;
  return (
    <div class={result.unasked ? "unsure" : "allclear"} data-testid="nothing-found">
      <p>
        <b>{texts.nothing}</b>
      </p>
      <p class="muted">{texts.nothingBy(looked)}</p>
      <Unasked sentence={result.unasked} />
    </div>
  );
}

interface OpeningProps {
  row: AdviceRow;
  result: Result;
  aside: ReadonlySet<string>;
}

function OpeningFinding({ row, result, aside }: OpeningProps) {
  const open = state.value.selected === row.rule;
  const put = [...aside, row.rule].filter(Boolean).join(",");
  return (
    <Finding
      row={row}
      category="other"
      inferred={result.provenance.timeline === "inferred"}
      saving={savingOf(row, result)}
      range={rangeOf(row)}
      behind={row.behind_share}
      open={open}
      onTurn={() => go({ selected: open ? null : row.rule }, "replace")}
    >
      <FindingFacts row={row} of={result} />
      <button
        type="button"
        class="quiet"
        data-testid="put-aside"
        onClick={() => go({ aside: put, selected: null }, "replace")}
        title={texts.putHelp}
      >
        {texts.put}
      </button>
    </Finding>
  );
}

interface FactsProps {
  row: AdviceRow;
  of: Pick<Result, "provenance">;
}

/** What a finding says, and what it rests on. */
export function FindingFacts({ row, of }: FactsProps) {
  return (
    <>
      <p>{row.explanation}</p>
      <dl class="facts">
        <Fact id="fix" name={texts.fix}>
          {row.fix}
        </Fact>
        {row.code !== null && <BeforeAndAfter code={row.code} />}
        {row.where !== null && (
          <Fact id="where" name={texts.where}>
            <FunctionLink where={row.where} />
          </Fact>
        )}
        {row.saving_ns !== null && <Saving row={row} of={of} />}
        {row.change !== null && (
          <Fact id="change" name={texts.change}>
            <a {...linkProps({ view: "whatif", changes: row.change })} data-testid="try">
              <code>{row.change}</code>
            </a>
          </Fact>
        )}
        {row.trial !== null && <Trial command={row.trial} />}
        <Fact id="how" name={texts.how}>
          {row.how}
        </Fact>
        {row.next !== null && (
          <Fact id="next" name={texts.next}>
            {row.next.statement}
          </Fact>
        )}
        <Fact id="confidence" name={texts.confidence}>
          {texts.confidences[row.confidence]}
          {row.lacks.length > 0 && <span class="muted">{texts.lacks(row.lacks)}</span>}
        </Fact>
        {row.evidence.length > 0 && <Evidence row={row} />}
        <Fact id="reference" name={texts.reference}>
          <span class="muted">{row.reference}</span>
        </Fact>
      </dl>
    </>
  );
}

/** What a finding saves of a step, with its range, and behind those above it. */
function Saving({ row, of }: FactsProps) {
  const [low, high] = [exactDuration(row.saving_low_ns), exactDuration(row.saving_high_ns)];
  return (
    <Fact id="saving" name={texts.saves}>
      <span title={exactDuration(row.saving_per_step_ns)}>
        {texts.savesPerStep(perStep(row.saving_per_step_ns, of.provenance), percent(row.saving_share))}
      </span>{" "}
      {rangeOf(row) && (
        <span class="muted" title={texts.rangeOfAll(low, high)}>
          {rangeOf(row)}
        </span>
      )}
      {row.behind_share !== null && (
        <span class="muted" data-testid="behind" data-value={row.behind_ns ?? ""}>
          {texts.behind(percent(row.behind_share))}
        </span>
      )}
    </Fact>
  );
}

function Evidence({ row }: { row: AdviceRow }) {
  const some = row.events > row.evidence.length;
  return (
    <Fact id="evidence" name={some ? texts.someEvents(row.evidence.length, row.events) : texts.events}>
      <Examples row={row} />
    </Fact>
  );
}

/** Events that show it, with links to these. */
function Examples({ row }: { row: AdviceRow }) {
  return (
    <ul class="event-examples">
      {row.evidence.map((e) => (
        <li key={`${e.table}/${e.row}`}>
          <EventLink example={e} />
          {e.table !== "memory" && (
            <>
              {" "}
              <a
                class="small"
                {...linkProps({ view: "timeline", item: `${e.table}:${e.row}` })}
                data-testid="show-on-timeline"
              >
                {texts.timeline}
              </a>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** All rules, so that silence can be told from not having looked. */
function Questions({ asked }: { asked: readonly RuleStatus[] }) {
  return (
    <details>
      <summary data-testid="all-rules">{texts.looked}</summary>
      <div class="withcsv">
        <CsvButton name="asked" rows={asked} />
        <table class="plain" data-testid="asked" data-rows={asked.length}>
          <HeadRow of={[texts.rule, texts.cause, texts.answer, texts.lacking]} />
          <tbody>
            {asked.map((a) => (
              <tr key={a.rule} data-key={a.rule} data-value={a.answer}>
                <td>{a.title}</td>
                <td>{texts.causes[a.cause].short}</td>
                <td>{texts.answers[a.answer]}</td>
                <td class="muted">{texts.list(a.lacks)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
