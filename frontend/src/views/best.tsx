// The overview's most valuable findings: the first of the advice whose saving is known.
import type { AdviceRow } from "../api";
import { count, duration, exactDuration, percent, plural } from "../base/format";
import { useView } from "../load";
import type { Selected } from "../place";
import { Mark, type Severity } from "./doubts";
import { linkProps } from "./link";

/** How severe a finding is, as a mark and in a word. */
export const MARKS: Readonly<Record<AdviceRow["severity"], { shape: Severity; word: string }>> = {
  high: { shape: "error", word: "High" },
  medium: { shape: "warning", word: "Medium" },
  low: { shape: "info", word: "Low" },
  note: { shape: "info", word: "Note" },
};

const SHOWN = 3;

/** They come later than the page: rules read all of the trace. */
export function Best({ selected }: { selected: Selected }) {
  const { loaded, retry } = useView("advice", selected, {});
  if (loaded.status === "cancelled") return null;
  const found = loaded.status === "ready" ? loaded.value.rows : [];
  const rows = found.filter((r) => r.saving_ns !== null).slice(0, SHOWN);
  return (
    <section class="best" data-testid="best" data-value={loaded.status === "ready" ? rows.length : ""} aria-busy={loaded.status === "loading"}>
      <h2>What to mend first <small class="muted">and what it would save</small></h2>
      {loaded.status === "loading" && <p class="muted">Looking for what could be faster…</p>}
      {loaded.status === "failed" && <p class="muted" role="alert">Findings cannot be shown: {loaded.failure.message} <button type="button" class="link" onClick={retry}>Try again</button></p>}
      {loaded.status === "ready" && <>
        {rows.length === 0
          ? <p class="muted">{found.length === 0 ? "Nothing was found." : "Nothing was found of which it is known what it would save."}</p>
          : <ol>{rows.map((row) => <Line key={row.rule} row={row} />)}</ol>}
        <p class="small"><a {...linkProps({ view: "advice" })} data-testid="to-advice">{more(found.length, rows.length)}</a></p>
      </>}
    </section>
  );
}

function more(found: number, shown: number): string {
  if (found === 0) return "What was looked for";
  if (shown === 0) return plural(found, "other finding");
  return found > shown ? `All ${count(found)} findings` : "Why, and how to mend it";
}

function Line({ row }: { row: AdviceRow }) {
  const mark = MARKS[row.severity];
  return (
    <li data-key={row.rule} data-value={row.saving_ns ?? ""}>
      <Mark severity={mark.shape} word={mark.word} />
      <a class="wrap" {...linkProps({ view: "advice", selected: row.rule })}>{row.title}</a>
      <span title={`${exactDuration(row.saving_ns)} of the judged steps`}><b>−{percent(row.saving_share)}</b> <span class="muted">{duration(row.saving_per_step_ns)} per step</span></span>
    </li>
  );
}
