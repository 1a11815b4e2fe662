// The findings with the largest estimated savings, at the top of the overview.
import type { AdviceRow, AdviceTable, ClassTime } from "../../api/types";
import { exactDuration, percent } from "../../lib/format";
import { useView } from "../../state/use-result";
import type { Selected } from "../../state/selection";
import { t } from "../../i18n";
import { SeverityMark } from "../shared/data-warnings";
import { MARKS, rangeOf, Unasked } from "../shared/finding-parts";
import { perStep } from "../shared/per-step";
import { linkProps } from "../../state/links";
import { FunctionLink } from "../shared/source-link";
import { TryIt } from "../shared/try-it";
import "../shared/card.css";
import "./top-findings.css";

const texts = t.topFindings;

const SHOWN = 3;

interface TopFindingsProps {
  selected: Selected;
  /** The class that the verdict names: where no rule has a remedy for it, that is said. */
  limit: ClassTime["name"] | null;
}

/** They come later than the page: rules read all of the trace. */
export function TopFindings({ selected, limit }: TopFindingsProps) {
  const { loaded, retry } = useView("advice", selected, {});
  if (loaded.status === "canceled") return null;
  const found = loaded.status === "ready" ? loaded.value.rows : [];
  const rows = found.filter((r) => r.saving_ns).slice(0, SHOWN);
  const open = loaded.status === "ready" ? loaded.value.open : [];
  const untreated = open.find((one) => one.name === limit);
  return (
    <section
      class="top-findings"
      data-testid="best"
      data-value={loaded.status === "ready" ? rows.length : ""}
      aria-busy={loaded.status === "loading"}
    >
      <h2>
        {texts.title} <small class="muted">{texts.titleNote}</small>
      </h2>
      {loaded.status === "loading" && (
        <>
          <p class="muted late">{texts.looking}</p>
          <div class="skeleton late" style={{ "--lines": 9 }} />
        </>
      )}
      {loaded.status === "failed" && (
        <p class="muted" role="alert">
          {texts.failed(loaded.failure.message)}{" "}
          <button type="button" class="link" onClick={retry}>
            {texts.retry}
          </button>
        </p>
      )}
      {loaded.status === "ready" && (
        <>
          {rows.length === 0 ? (
            <p class="muted">{found.length === 0 ? texts.nothing : texts.noSaving}</p>
          ) : (
            <ol>
              {rows.map((row) => (
                <FindingLine key={row.rule} row={row} of={loaded.value} selected={selected} />
              ))}
            </ol>
          )}
          <Unasked sentence={loaded.value.unasked} />
          {untreated && (
            <p data-testid="best-open" data-key={untreated.name}>
              <b>{t.advice.open}:</b> {untreated.statement}
            </p>
          )}
          <p class="small">
            <a {...linkProps({ view: "advice" })} data-testid="to-advice">
              {more(found.length, rows.length)}
            </a>
          </p>
        </>
      )}
    </section>
  );
}

function more(found: number, shown: number): string {
  if (found === 0) return texts.looked;
  if (shown === 0) return texts.others(found);
  return found > shown ? texts.all(found) : texts.why;
}

interface FindingLineProps {
  row: AdviceRow;
  of: Pick<AdviceTable, "provenance">;
  /** Missing in a document without pages, where nothing can be tried. */
  selected?: Selected;
}

export function FindingLine({ row, of, selected }: FindingLineProps) {
  const mark = MARKS[row.severity];
  return (
    <li data-key={row.rule} data-value={row.saving_ns ?? ""}>
      <SeverityMark severity={mark.shape} word={mark.word} />
      <span class="what">
        <a class="wrap" {...linkProps({ view: "advice", selected: row.rule })}>
          {row.title}
        </a>{" "}
        {row.where && <FunctionLink where={row.where} />}
      </span>
      <span class="saves" title={texts.ofSteps(exactDuration(row.saving_ns))}>
        <b>−{percent(row.saving_share)}</b>{" "}
        {rangeOf(row) && (
          <span class="muted" title={t.advice.rangeHelp}>
            {rangeOf(row)}{" "}
          </span>
        )}
        <span class="muted">{perStep(row.saving_per_step_ns, of.provenance)}</span>
      </span>
      <p class="muted small">{row.fix}</p>
      {selected && row.change !== null && <TryIt selected={selected} change={row.change} />}
    </li>
  );
}
