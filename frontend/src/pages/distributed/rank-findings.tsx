// Advice for a run of several ranks: findings, their basis, and the ranks that show them.
import type { RankAdvice as Row } from "../../api/types";
import { color } from "../../lib/color";
import { duration, exactDuration, percent } from "../../lib/format";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { ShareBar } from "../../widgets/charts/share-bar";
import { Fact, MARKS } from "../shared/finding-parts";
import { SeverityMark } from "../shared/data-warnings";
import { linkProps, ofRank } from "../../state/links";
import "../shared/finding-parts.css";

const [texts, own] = [t.advice, t.rankFindings];

export function RankFindings({ rows, inferred }: { rows: readonly Row[]; inferred: boolean }) {
  if (rows.length === 0) return null;
  return (
    <section class="advice-list" data-testid="rank-advice" data-rows={rows.length}>
      <h2>
        {own.title}{" "}
        <small class="muted">
          {own.titleNote(rows.length, (text) => (
            <a {...linkProps({ view: "advice" })}>{text}</a>
          ))}
        </small>
      </h2>
      <div>
        {rows.map((row, i) => (
          <Finding key={`${row.rule}/${i}`} row={row} name={`${row.rule}/${i}`} inferred={inferred} />
        ))}
      </div>
    </section>
  );
}

function Finding({ row, name, inferred }: { row: Row; name: string; inferred: boolean }) {
  const open = state.value.selected === name;
  const mark = MARKS[row.severity];
  return (
    <article
      class={open ? "finding open" : "finding"}
      data-testid="rank-finding"
      data-key={row.rule}
      data-severity={row.severity}
      data-value={row.saving_ns ?? ""}
    >
      <button
        type="button"
        class="headline"
        aria-expanded={open}
        onClick={() => go({ selected: open ? null : name }, "replace")}
      >
        <SeverityMark severity={mark.shape} word={mark.word} />
        <span class="title">{row.title}</span>
        {row.saving_share !== null && (
          <ShareBar share={row.saving_share} fill={color("communication")} inferred={inferred} />
        )}
        <span
          class="saving"
          title={row.saving_ns === null ? texts.noSaving : own.ofStep(exactDuration(row.saving_ns))}
        >
          {row.saving_ns === null ? "" : `−${percent(row.saving_share)}`}
        </span>
      </button>
      {open && <Details row={row} />}
    </article>
  );
}

function Details({ row }: { row: Row }) {
  return (
    <div class="body">
      <p>{row.explanation}</p>
      <dl class="facts">
        {row.symptoms.length > 0 && (
          <Fact id="symptoms" name={own.symptoms}>
            <ul class="event-examples">
              {row.symptoms.map((one) => (
                <li key={one.rule} data-testid="rank-symptom" data-key={one.rule}>
                  <b>{one.title}</b> {one.explanation}
                </li>
              ))}
            </ul>
          </Fact>
        )}
        <Fact id="fix" name={texts.fix}>
          {row.fix}
        </Fact>
        {row.saving_ns !== null && (
          <Fact id="saving" name={texts.saves}>
            <span title={exactDuration(row.saving_ns)}>
              {texts.savesPerStep(duration(row.saving_ns), percent(row.saving_share))}
            </span>
          </Fact>
        )}
        <Fact id="how" name={texts.how}>
          {row.how}
        </Fact>
        <Fact id="confidence" name={texts.confidence}>
          {texts.confidences[row.confidence]}
        </Fact>
        <Fact id="evidence" name={own.ranks(row.evidence.length)}>
          <RankEvidence row={row} />
        </Fact>
        <Fact id="reference" name={texts.reference}>
          <span class="muted">{row.reference}</span>
        </Fact>
      </dl>
    </div>
  );
}

/** The ranks that show it, with links to them. */
function RankEvidence({ row }: { row: Row }) {
  return (
    <ul class="event-examples">
      {row.evidence.map((e) => (
        <li key={e.rank} data-testid="rank-evidence" data-rank={e.rank}>
          <a {...linkProps({ view: "advice", ...ofRank(e.rank) })}>{own.rank(e.rank)}</a>{" "}
          <a class="small" {...linkProps({ view: "timeline", ...ofRank(e.rank) })}>
            {texts.timeline}
          </a>{" "}
          <span class="muted">{e.note}</span>
        </li>
      ))}
    </ul>
  );
}
