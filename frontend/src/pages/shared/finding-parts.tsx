// Parts of an advice finding that several pages show: its headline, and one labeled fact.
import type { ComponentChildren } from "preact";
import type { AdviceRow, AdviceTable } from "../../api/types";
import { color, type Category } from "../../lib/color";
import { exactDuration, percent, percentLimits } from "../../lib/format";
import { t } from "../../i18n";
import { ShareBar } from "../../widgets/charts/share-bar";
import { SeverityMark, type Severity } from "./data-warnings";
import "./finding-parts.css";

/** How severe a finding is, as a mark and in a word. */
export const MARKS: Readonly<Record<AdviceRow["severity"], { shape: Severity; word: string }>> = {
  high: { shape: "error", word: t.advice.severities.high },
  medium: { shape: "warning", word: t.advice.severities.medium },
  low: { shape: "info", word: t.advice.severities.low },
  note: { shape: "info", word: t.advice.severities.note },
};

interface FindingProps {
  row: Pick<AdviceRow, "rule" | "severity" | "title" | "saving_ns" | "saving_share">;
  /** The range of its saving in words, if it has one. */
  range?: string;
  testid?: string;
  id?: string;
  /** Of the bar of its saving. */
  category: Category;
  inferred: boolean;
  /** The saving, exactly; null if there is none. */
  saving: string | null;
  /** What it saves behind the findings above it, of 1. */
  behind?: number | null;
  /** Without it, the finding is always open. */
  onTurn?: () => void;
  open?: boolean;
  children: ComponentChildren;
}

/** A finding: its headline, and below it what it says, if it is open. */
export function Finding({ row, testid = "finding", id, onTurn, open = !onTurn, ...props }: FindingProps) {
  const { shape, word } = MARKS[row.severity];
  const headline = (
    <>
      <SeverityMark severity={shape} word={word} />
      {onTurn ? <span class="title">{row.title}</span> : <h3 class="title">{row.title}</h3>}
      {row.saving_share !== null && (
        <ShareBar share={row.saving_share} fill={color(props.category)} inferred={props.inferred} />
      )}
      <span class="saving" title={props.saving ?? t.advice.noSaving}>
        {row.saving_ns === null ? "" : `−${percent(row.saving_share)}`}
        {props.range && (
          <small class="muted" title={t.advice.rangeHelp} data-testid="saving-range">
            {props.range}
          </small>
        )}
        {props.behind != null && percent(props.behind) !== percent(row.saving_share) && (
          <small class="muted" title={t.advice.behindHelp}>
            {props.behind === 0 ? t.advice.nothingBehind : t.advice.behindShort(percent(props.behind))}
          </small>
        )}
      </span>
    </>
  );
  return (
    <article
      class={onTurn && open ? "finding open" : "finding"}
      id={id}
      data-testid={testid}
      data-key={row.rule}
      data-severity={row.severity}
      data-value={row.saving_ns ?? ""}
    >
      {onTurn ? (
        <button type="button" class="headline" aria-expanded={open} onClick={onTurn}>
          {headline}
        </button>
      ) : (
        <div class="headline">{headline}</div>
      )}
      {open && <div class="body">{props.children}</div>}
    </article>
  );
}

/** What a row saves of the judged time, exactly. */
export const savingOf = (
  { saving_ns }: AdviceRow,
  { judged_net_ns, judged_ns }: Pick<AdviceTable, "judged_net_ns" | "judged_ns">,
): string | null =>
  saving_ns === null
    ? null
    : t.advice.savingOf(exactDuration(saving_ns), exactDuration(judged_net_ns), judged_net_ns < judged_ns);

/** The range of what a row saves; empty if it has none, or if that is what is shown anyway. */
export function rangeOf({ saving_share, saving_low_share, saving_high_share }: AdviceRow): string {
  const range = percentLimits(saving_low_share, saving_high_share);
  return range === percentLimits(saving_share, saving_share) ? "" : range;
}

interface FactProps {
  id: string;
  name: string;
  title?: string;
  children: ComponentChildren;
}

export function Fact({ id, name, title, children }: FactProps) {
  return (
    <div data-key={id} title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** How many rules could not look, and what to record for them. */
export function Unasked({ sentence }: { sentence: string }) {
  return sentence ? (
    <p class="muted" data-testid="unasked">
      {sentence}
    </p>
  ) : null;
}
