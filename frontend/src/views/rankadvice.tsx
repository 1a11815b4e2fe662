// What to mend in a run of several ranks: findings, how each is known, and the ranks that show it.
import type { RankAdvice as Row } from "../api";
import { count, duration, exactDuration, percent, plural } from "../base/format";
import { go, state } from "../state";
import { ShareBar } from "../widgets/sharebar";
import { Mark, type Severity } from "./doubts";
import { linkProps } from "./link";

const MARKS: Readonly<Record<Row["severity"], { shape: Severity; word: string }>> = {
  high: { shape: "error", word: "High" },
  medium: { shape: "warning", word: "Medium" },
  low: { shape: "info", word: "Low" },
  note: { shape: "info", word: "Note" },
};

export function RankAdvice({ rows, inferred }: { rows: readonly Row[]; inferred: boolean }) {
  if (rows.length === 0) return null;
  return (
    <section class="mend" data-testid="rank-advice" data-rows={rows.length}>
      <h2>Advice <small class="muted">{plural(rows.length, "finding")} of all ranks together; each rank has <a {...linkProps({ view: "advice" })}>its own</a></small></h2>
      <div>{rows.map((row, i) => <Finding key={`${row.rule}/${i}`} row={row} name={`${row.rule}/${i}`} inferred={inferred} />)}</div>
    </section>
  );
}

function Finding({ row, name, inferred }: { row: Row; name: string; inferred: boolean }) {
  const open = state.value.selected === name;
  const mark = MARKS[row.severity];
  return (
    <article class={open ? "finding open" : "finding"} data-testid="rank-finding" data-key={row.rule} data-severity={row.severity} data-value={row.saving_ns ?? ""}>
      <button type="button" class="headline" aria-expanded={open} onClick={() => go({ selected: open ? null : name }, "replace")}>
        <Mark severity={mark.shape} word={mark.word} />
        <span class="title">{row.title}</span>
        {row.saving_share !== null && <ShareBar share={row.saving_share} category="communication" inferred={inferred} />}
        <span class="saving" title={row.saving_ns === null ? "No saving is known" : `${exactDuration(row.saving_ns)} of a mean step`}>{row.saving_ns === null ? "" : `−${percent(row.saving_share)}`}</span>
      </button>
      {open && (
        <div class="body">
          <p>{row.explanation}</p>
          <dl class="facts">
            <Fact name="To mend">{row.fix}</Fact>
            {row.saving_ns !== null && <Fact name="Saves"><span title={exactDuration(row.saving_ns)}>{duration(row.saving_ns)} per step, {percent(row.saving_share)}</span></Fact>}
            <Fact name="How computed">{row.how}</Fact>
            <Fact name="Confidence">{row.confidence}</Fact>
            <Fact name={row.evidence.length === 1 ? "Rank" : `${count(row.evidence.length)} ranks`}>
              <ul class="examples">{row.evidence.map((e) => (
                <li key={e.rank} data-testid="rank-evidence" data-rank={e.rank}>
                  <a {...linkProps({ view: "advice", rank: e.rank, span: state.value.span })}>rank {e.rank}</a> <a class="small" {...linkProps({ view: "timeline", rank: e.rank, span: state.value.span })}>timeline</a> <span class="muted">{e.note}</span>
                </li>
              ))}</ul>
            </Fact>
            <Fact name="Known from"><span class="muted">{row.reference}</span></Fact>
          </dl>
        </div>
      )}
    </article>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return <div data-key={name}><dt>{name}</dt><dd>{children}</dd></div>;
}
