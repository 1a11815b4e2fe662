// Advice for a run of several ranks: findings, their basis, and the ranks that show them.
import type { RankAdvice as Row } from "../../api/types";
import { duration, exactDuration, percent } from "../../lib/format";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { Fact, Finding } from "../shared/finding-parts";
import { linkProps, ofRank } from "../../state/links";

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
          <RankFinding key={`${row.rule}/${i}`} row={row} name={`${row.rule}/${i}`} inferred={inferred} />
        ))}
      </div>
    </section>
  );
}

function RankFinding({ row, name, inferred }: { row: Row; name: string; inferred: boolean }) {
  const open = state.value.selected === name;
  return (
    <Finding
      row={row}
      testid="rank-finding"
      category="communication"
      inferred={inferred}
      saving={row.saving_ns === null ? null : own.ofStep(exactDuration(row.saving_ns))}
      open={open}
      onTurn={() => go({ selected: open ? null : name }, "replace")}
    >
      <Details row={row} />
    </Finding>
  );
}

function Details({ row }: { row: Row }) {
  return (
    <>
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
    </>
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
