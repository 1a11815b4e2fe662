// All findings: what to fix, where, and what it saves; the evidence folds out.
import type { AdviceRow, AdviceTable } from "../api/types";
import { FindingFacts } from "../pages/advice";
import { Fine, Open } from "../pages/advice/fine";
import { FindingLine } from "../pages/overview/top-findings";
import { Finding, rangeOf, savingOf, Unasked } from "../pages/shared/finding-parts";
import { FunctionLink } from "../pages/shared/source-link";
import { t } from "../i18n";
import { report as texts } from "../i18n/report";
import { ISSUES, issueId, within } from "./ways";

const SHOWN = 4;

/** The findings with most to save, for the first screen. */
export function TopIssues({ advice }: { advice: AdviceTable }) {
  const { rows } = advice;
  const top = [...rows.filter((row) => row.saving_ns), ...rows.filter((row) => !row.saving_ns)];
  return (
    <section class="top-findings" data-testid="best" data-value={Math.min(SHOWN, rows.length)}>
      <h2>
        {t.topFindings.title} <small class="muted">{t.topFindings.titleNote}</small>
      </h2>
      {rows.length === 0 && <p class="muted">{texts.nothing}</p>}
      <ol>
        {top.slice(0, SHOWN).map((row) => (
          <FindingLine key={row.rule} row={row} of={advice} />
        ))}
      </ol>
      {rows.length > 0 && (
        <p class="small">
          <a {...within(ISSUES)}>{texts.allIssues(rows.length)}</a>
        </p>
      )}
    </section>
  );
}

export function Issues({ advice }: { advice: AdviceTable }) {
  const inferred = advice.provenance.timeline === "inferred";
  const asked = advice.asked.filter((one) => one.answer !== "not_asked").length;
  return (
    <div class="advice-list">
      {advice.read && <p class="muted">{advice.read}</p>}
      <div>
        {advice.rows.map((row, i) => (
          <Issue key={`${row.rule}/${i}`} row={row} whole={advice} inferred={inferred} />
        ))}
        {advice.rows.length === 0 && (
          <div class={advice.unasked ? "unsure" : "allclear"} data-testid="nothing-found">
            <p>
              <b>{texts.nothing}</b>
            </p>
          </div>
        )}
        <p class="muted small">{texts.checked(asked, advice.asked.length)}</p>
      </div>
      <Fine rows={advice.fine} />
      <Open rows={advice.open} />
      <Unasked sentence={advice.unasked} />
      {advice.missing && <p class="muted">{advice.missing}</p>}
    </div>
  );
}

function Issue({ row, whole, inferred }: { row: AdviceRow; whole: AdviceTable; inferred: boolean }) {
  return (
    <Finding
      row={row}
      id={issueId(row.rule)}
      category="other"
      inferred={inferred}
      saving={savingOf(row, whole)}
      range={rangeOf(row)}
      behind={row.behind_share}
    >
      <p>
        {row.fix} {row.where && <FunctionLink where={row.where} />}
      </p>
      <details>
        <summary>{texts.why}</summary>
        <FindingFacts row={row} of={whole} />
      </details>
    </Finding>
  );
}
