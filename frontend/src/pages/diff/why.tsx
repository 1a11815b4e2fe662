// Why the step changed: sentences with their part of the change, and what they leave.
import type { Condition, DiffParameter, Explanation, Reason } from "../../api/types";
import { MISSING, duration, exactDuration, percent, signedDuration } from "../../lib/format";
import { type LinkProps, linkProps } from "../../state/links";
import type { Selected } from "../../state/selection";
import { t } from "../../i18n";
import { compare } from "../../i18n/compare";
import { CsvButton } from "../../widgets/table/csv-button";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import "./why.css";

const texts = compare.diffWhy;

/** What differs about the recordings besides their time, in one line. */
export function Conditions({ conditions }: { conditions: readonly Condition[] }) {
  if (conditions.length === 0) return null;
  const shown = conditions.map((c) =>
    texts.condition(texts.conditions[c.name], wordOf(c.base), wordOf(c.now)),
  );
  return (
    <p class="notice" data-testid="diff-conditions">
      {texts.differ(shown)}
    </p>
  );
}

const MOST_PARAMETERS = 12;

/** The parameters that differ, a row each; those beyond a screen are in the CSV. */
export function Parameters({ parameters }: { parameters: readonly DiffParameter[] }) {
  const { parameter } = texts;
  if (parameters.length === 0) return null;
  const more = parameters.length - MOST_PARAMETERS;
  return (
    <section data-testid="diff-parameters" data-value={parameters.length}>
      <h2 class="withcsv">
        {parameter.title} <small class="muted">{parameter.note}</small>
        <CsvButton name="parameters" rows={parameters} />
      </h2>
      <table class="plain diff-parameters">
        <HeadRow of={[parameter.name, parameter.base, parameter.now]} />
        <tbody>
          {parameters.slice(0, MOST_PARAMETERS).map(({ name, source, base, now }) => (
            <tr key={`${source} ${name}`} data-key={name}>
              <td>
                {name} <small class="muted">{t.history.sources[source]}</small>
              </td>
              <td class="value">{base ?? MISSING}</td>
              <td class="value">{now ?? MISSING}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p class="muted">{parameter.more(more)}</p>}
    </section>
  );
}

const wordOf = (value: string | null): string =>
  value !== null && Object.hasOwn(texts.values, value)
    ? texts.values[value as keyof typeof texts.values]
    : (value ?? "–");

export function Why({ why, other }: { why: Explanation; other: Selected }) {
  const rest = texts.rest(why.rest_groups, why.rest_noise_ns === null ? null : duration(why.rest_noise_ns));
  const rows = [
    ...why.reasons.map(({ sentence, change_ns, noise_ns }) => ({ sentence, change_ns, noise_ns })),
    { sentence: rest, change_ns: why.rest_ns, noise_ns: why.rest_noise_ns },
  ];
  return (
    <section data-testid="why" data-value={why.change_ns}>
      <h2 class="withcsv">
        {texts.title} <small class="muted">{texts.note}</small>
        <CsvButton name="reasons" rows={rows} />
      </h2>
      <table class="plain diff-reasons">
        <HeadRow
          of={[numbers(texts.head.change), texts.head.reason, numbers(texts.head.share, texts.shareHelp)]}
        />
        <tbody>
          {why.reasons.map((reason) => (
            <Line key={reason.sentence} reason={reason} other={other} />
          ))}
          <tr data-testid="why-rest" data-value={why.rest_ns}>
            <td class="number" title={exactDuration(why.rest_ns)}>
              {signedDuration(why.rest_ns)}
            </td>
            <td class="wrap muted">{rest}</td>
            <td class="number muted" />
          </tr>
          <tr class="sum" data-testid="why-sum">
            <td class="number" title={exactDuration(why.change_ns)}>
              {signedDuration(why.change_ns)}
            </td>
            <td>{texts.sum}</td>
            <td class="number" />
          </tr>
        </tbody>
      </table>
    </section>
  );
}

function Line({ reason, other }: { reason: Reason; other: Selected }) {
  const noise = reason.noise_ns ? ` ± ${exactDuration(reason.noise_ns)}` : "";
  const { text, link } = wayOf(reason, other);
  return (
    <tr
      data-testid="reason"
      data-kind={reason.kind}
      data-class={reason.time_class}
      data-value={reason.change_ns}
    >
      <td
        class={reason.change_ns > 0 ? "number longer" : "number shorter"}
        title={`${exactDuration(reason.change_ns)}${noise}`}
      >
        {signedDuration(reason.change_ns)}
      </td>
      <td class="wrap">
        {reason.sentence}
        {reason.verdict === "unknown" && <span class="muted"> {texts.unsure}</span>}{" "}
        <a {...link} data-testid="reason-link">
          {text}
        </a>
      </td>
      <td class="number muted">{percent(reason.change_share)}</td>
    </tr>
  );
}

/** To the row of the operator in this comparison; to the event on the timeline of the side with more of
 * it; else to that side's account. */
function wayOf(reason: Reason, other: Selected): { text: string; link: LinkProps } {
  if (reason.operator !== null)
    return {
      text: texts.row,
      link: linkProps({ group: null, filter: null, sort: null, selected: reason.operator }),
    };
  const isBase = reason.base_ns > reason.now_ns;
  const { run, rank, span, step } = other.place;
  const side = isBase ? { run, rank, span, step } : {};
  if (reason.event !== null)
    return {
      text: isBase ? texts.eventInBase : texts.eventInNew,
      link: linkProps({ view: "timeline", find: reason.event, selected: null, ...side }),
    };
  return {
    text: isBase ? texts.accountOfBase : texts.accountOfNew,
    link: linkProps({ view: "overview", selected: null, ...side }),
  };
}
