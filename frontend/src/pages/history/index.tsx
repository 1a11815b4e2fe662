// The runs page: all recordings of the logdir, the trend of a figure, and what changed it.
import { useMemo } from "preact/hooks";
import type { History as Result, HistoryLevel, HistoryRow } from "../../api/types";
import { useHistory, useLatest } from "../../state/use-result";
import { go, state } from "../../state/url";
import { tableInUrl } from "../../state/table-in-url";
import { linkProps, type LinkProps } from "../../state/links";
import { relativeChange } from "../../lib/format";
import { t } from "../../i18n";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { Show } from "../shared/load-states";
import { columnsOf, keyOf, placeOf } from "./columns";
import { TrendChart } from "./chart";
import { FIGURES, format, LABELS } from "./figures";
import { SweepChart } from "./sweep";
import "./history.css";

const texts = t.history;

export function History() {
  const { by, matching } = state.value;
  const figure = FIGURES.find((f) => f === by) ?? "step_ns";
  // While another figure is asked for, the page stays.
  const latest = useLatest(useHistory({ figure, ...(matching !== null && { matching }) }), "history");
  return (
    <div class="history fill" aria-busy={latest.isStale}>
      <Show resource={latest}>{(result) => <Page result={result} />}</Show>
    </div>
  );
}

function Page({ result }: { result: Result }) {
  const picked = pickedOf(result.rows);
  const keys = picked.map(keyOf);
  const pick = (row: HistoryRow): void => {
    const key = keyOf(row);
    // A third one takes the place of the first.
    const next = keys.includes(key) ? keys.filter((k) => k !== key) : [...keys.slice(-1), key];
    go({ picked: next.join("\n") || null });
  };
  const parameter = result.parameters.find((name) => name === state.value.sweep);
  const columns = useMemo(() => columnsOf(result), [result]);
  return (
    <>
      <Toolbar result={result} parameter={parameter} />
      {parameter === undefined ? (
        <>
          <TrendChart result={result} picked={keys} onPick={pick} />
          <Changes result={result} />
        </>
      ) : (
        <SweepChart result={result} parameter={parameter} picked={keys} onPick={pick} />
      )}
      <Picked rows={picked} />
      <Table
        name="history"
        hideUniform
        noun={texts.noun}
        nouns={texts.nouns}
        columns={columns}
        rows={result.rows}
        rowKey={keyOf}
        {...tableInUrl()}
        defaultSort="-written_ns"
        inferred={result.rows.some((row) => row.timeline === "inferred")}
        selected={keys}
        onOpen={pick}
      />
    </>
  );
}

/** Choose what is drawn: the figure, the parameter, and the runs. */
function Toolbar({ result, parameter }: { result: Result; parameter: string | undefined }) {
  const known = useMemo(() => FIGURES.filter((f) => result.rows.some((row) => row[f] !== null)), [result]);
  return (
    <div class="toolbar">
      {known.length > 1 && (
        <Segmented
          label={texts.trendOf}
          value={result.figure}
          onPick={(f) => go({ by: f === "step_ns" ? null : f })}
          choices={known.map((value) => ({ value, label: LABELS[value] }))}
        />
      )}
      {result.parameters.length > 0 && (
        <label>
          {texts.over}{" "}
          <select
            value={parameter ?? ""}
            onChange={(event) => go({ sweep: event.currentTarget.value || null })}
            data-testid="sweep-by"
          >
            <option value="">{texts.time}</option>
            {result.parameters.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        {texts.matching}{" "}
        <input
          type="search"
          value={state.value.matching ?? ""}
          onChange={(event) => go({ matching: event.currentTarget.value || null })}
          data-testid="matching"
        />
      </label>
      {result.waiting > 0 && (
        <span class="muted" role="status" data-testid="waiting" data-value={result.waiting}>
          {texts.reading(result.rows.length - result.waiting, result.rows.length)}
        </span>
      )}
    </div>
  );
}

/** The picked recordings, in the order of picking. */
function pickedOf(rows: readonly HistoryRow[]): HistoryRow[] {
  const keys = (state.value.picked ?? "").split("\n");
  return keys.flatMap((key) => rows.find((row) => keyOf(row) === key) ?? []);
}

/** What became faster or slower, from which recording on, and the way to why. */
function Changes({ result }: { result: Result }) {
  const changes = result.levels.flatMap((level, i) => changeOf(result, level, result.levels[i - 1]));
  if (changes.length === 0) return null;
  return (
    <ul class="plainlist" data-testid="changes">
      {changes.map(({ level, before, last, first }) => (
        <li key={level.first} data-change={level.change}>
          <b>{`${LABELS[result.figure]} ${relativeChange(level.change ?? 0)}`}</b>{" "}
          {texts.from(first.run, first.span)},{" "}
          {texts.levels(format(result.figure, before.median), format(result.figure, level.median))}{" "}
          <a {...compare(last, first)}>{texts.why}</a>
        </li>
      ))}
    </ul>
  );
}

function changeOf(result: Result, level: HistoryLevel, before: HistoryLevel | undefined) {
  const first = result.rows[level.first];
  const last = before && result.rows[before.last];
  return before && last && first ? [{ level, before, last, first }] : [];
}

/** Two recordings side by side; the older one is the base. */
function Picked({ rows }: { rows: readonly HistoryRow[] }) {
  const [one, other] = rows;
  if (!one) return <p class="muted">{texts.pickTwo}</p>;
  const [base, now] = [one, other ?? one].sort((a, b) => (a.written_ns ?? 0) - (b.written_ns ?? 0));
  return (
    <p data-testid="picked">
      {rows.map((row) => texts.recording(row.run, row.span)).join(texts.and)}:{" "}
      {other && base && now ? (
        <a {...compare(base, now)} data-testid="compare">
          {texts.compare}
        </a>
      ) : (
        <span class="muted">{texts.pickAnother}</span>
      )}{" "}
      <button type="button" class="quiet" onClick={() => go({ picked: null })}>
        {texts.clear}
      </button>
    </p>
  );
}

const compare = (base: HistoryRow, now: HistoryRow): LinkProps =>
  linkProps({
    view: "diff",
    ...placeOf(now),
    base: base.run,
    baserank: base.rank,
    basespan: base.span,
  });
