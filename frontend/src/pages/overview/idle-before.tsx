// The operators that the idle device waited for.
import type { Overview } from "../../api/types";
import { count, duration, exactDuration, percent } from "../../lib/format";
import { toInterval, toOperator } from "../../state/links";
import { t } from "../../i18n";
import { CsvButton } from "../../widgets/table/csv-button";
import { HeadRow, numbers } from "../../widgets/table/head-row";

const texts = t.idleBefore;
const SHOWN = 6;
/** Gaps of a few nanoseconds before an operator are no idle time to look at. */
const LEAST_SHARE = 0.001;

export function IdleBefore({ now }: { now: Overview }) {
  const rows = now.idle_before.filter((r) => r.share >= LEAST_SHARE).slice(0, SHOWN);
  if (rows.length === 0) return null;
  const inferred = now.provenance.timeline === "inferred";
  return (
    <section>
      <h2 class="withcsv">
        {texts.title} <small class="muted">{texts.note}</small>
        <CsvButton name="idle-before" rows={now.idle_before} />
      </h2>
      <table class="plain name-table" data-testid="idle-before">
        <Heads />
        <tbody>
          {rows.map((r) => (
            <tr key={r.name} data-key={r.name} data-value={r.idle_ns}>
              <td class="name" title={r.name}>
                {r.name ? (
                  <a {...toOperator(r.name)}>{r.name}</a>
                ) : (
                  <span class="muted">{texts.noOperator}</span>
                )}
              </td>
              <td class={inferred ? "number uncertain" : "number"} title={exactDuration(r.idle_ns)}>
                {duration(r.idle_ns)}
              </td>
              <td class="number">{percent(r.share)}</td>
              <td class="number">{count(r.gaps)}</td>
              <td class="number">
                <a {...toInterval(r.longest_start_ns, r.longest_start_ns + r.longest_ns, now.duration_ns)}>
                  {duration(r.longest_ns)}
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Heads() {
  return (
    <HeadRow
      of={[
        { title: texts.operator, help: texts.operatorHelp },
        numbers(texts.idle),
        numbers(texts.share, texts.shareHelp),
        numbers(texts.gaps),
        numbers(texts.longest, texts.longestHelp),
      ]}
    />
  );
}
