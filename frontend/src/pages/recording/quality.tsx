// The section on quality: what is missing or damaged, which figures it costs, and examples.
import { useEffect, useRef } from "preact/hooks";
import type { Finding, Quality as Result } from "../../api/types";
import { bytes, count, MISSING, percent } from "../../lib/format";
import { state } from "../../state/url";
import { t } from "../../i18n";
import { CsvButton } from "../../widgets/table/csv-button";
import { KeyFigure } from "../../widgets/controls/key-figure";
import { SeverityMark, type Figures } from "../shared/data-warnings";
import { EventLink } from "../shared/event-link";
import { linkProps } from "../../state/links";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import "../shared/finding-parts.css";

const texts = t.quality;

export function Quality({ result }: { result: Result }) {
  return (
    <div class="recording-parts">
      <KeyFigures result={result} />
      {result.accuracy !== null && <AccuracyClass found={result.accuracy} />}
      <section>
        {result.rows.length === 0 ? <Nothing result={result} /> : <Rows rows={result.rows} />}
      </section>
    </div>
  );
}

function KeyFigures({ result }: { result: Result }) {
  return (
    <div class="figures-row">
      <KeyFigure
        name="errors"
        label={texts.errors}
        exact={result.errors}
        unit={texts.findingsUnit}
        help={texts.errorsHelp}
      />
      <KeyFigure
        name="warnings"
        label={texts.warnings}
        exact={result.warnings}
        unit={texts.findingsUnit}
        help={texts.warningsHelp}
      />
      <KeyFigure
        name="notes"
        label={texts.notes}
        exact={result.notes}
        unit={texts.findingsUnit}
        help={texts.notesHelp}
      />
      {result.activities !== null && <LinkFigures result={result} />}
      <KeyFigure
        name="events"
        label={texts.events}
        exact={result.events}
        unit={texts.eventsUnit}
        note={result.size_bytes === null ? "" : bytes(result.size_bytes)}
        help={texts.eventsHelp}
      />
    </div>
  );
}

/** What a recording of this backend can say, as the conformance kit found. */
function AccuracyClass({ found }: { found: NonNullable<Result["accuracy"]> }) {
  return (
    <p data-testid="accuracy" data-value={found.letter}>
      <b>{texts.accuracyClass(found.letter)}</b> {found.meaning}{" "}
      {found.reason !== null && `${texts.accuracyReason(found.reason)} `}
      <span class="muted">
        {texts.accuracyChecked(found.checked)} <code>python -m tb_privateuse1.capture --check</code>
      </span>
    </p>
  );
}

/** How much of the device's time has its operator. */
function LinkFigures({ result }: { result: Result }) {
  const { step } = state.value;
  const lost = (result.activities ?? 0) - (result.linked ?? 0);
  return (
    <>
      <KeyFigure
        name="linked_share"
        label={step === null ? texts.linked : texts.linkedOf(step)}
        exact={result.linked_share}
        unit={texts.ofOne}
        value={percent(result.linked_share)}
        note={lost === 0 ? texts.allActivities : texts.notLinked(lost, count(result.activities))}
        help={texts.linkedHelp}
      />
      {lost > 0 && (
        <KeyFigure
          name="unlinked_ns"
          label={step === null ? texts.unlinkedTime : texts.unlinkedTimeOf(step)}
          exact={result.unlinked_ns}
          unit="ns"
          note={result.unlinked_share === null ? "" : texts.ofDeviceTime(percent(result.unlinked_share))}
          help={texts.unlinkedTimeHelp}
        />
      )}
    </>
  );
}

function Nothing({ result }: { result: Result }) {
  return (
    <div class="allclear" data-testid="nothing-found">
      <p>
        <b>{texts.nothingWrong}</b>
      </p>
      <p class="muted">{result.activities === null ? texts.allClear : texts.allClearLinked}</p>
    </div>
  );
}

function Rows({ rows }: { rows: readonly Finding[] }) {
  return (
    <div class="withcsv">
      <CsvButton name="findings" rows={rows} />
      <table class="plain ranked-table" data-testid="table-findings" data-rows={rows.length}>
        <HeadRow of={[texts.severity, texts.what, numbers(texts.count), texts.affects, texts.examples]} />
        <tbody>
          {rows.map((row, i) => (
            <Row key={i} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ row }: { row: Finding }) {
  const chosen = state.value.filter === row.code;
  const element = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (chosen) element.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <tr
      ref={element}
      class={chosen ? "selected" : ""}
      data-code={row.code}
      data-severity={row.severity}
      data-value={row.count ?? ""}
    >
      <td>
        <SeverityMark severity={row.severity} word />
      </td>
      <td class="what">
        {row.message}
        {row.hint && <div class="muted">{row.hint}</div>}
        <div class="muted small">
          <code>{row.code}</code>
        </div>
      </td>
      <td class="number">{row.count === null ? MISSING : count(row.count)}</td>
      <td>{row.affects.length === 0 ? MISSING : <Affects figures={row.affects} />}</td>
      <td>
        {row.examples.length === 0 ? (
          MISSING
        ) : (
          <ul class="event-examples">
            {row.examples.map((e) => (
              <li key={`${e.table}/${e.row}`}>
                <EventLink example={e} />
              </li>
            ))}
          </ul>
        )}
      </td>
    </tr>
  );
}

const PAGES: Readonly<Record<Figures, string | null>> = {
  totals: "overview",
  steps: "overview",
  operators: "operators",
  kernels: "kernels",
  memory: "memory",
  stacks: null,
};

function Affects({ figures }: { figures: readonly Figures[] }) {
  if (figures.length === Object.keys(PAGES).length) return <>{texts.everything}</>;
  return (
    <>
      {figures.map((f, i) => {
        const [title, view] = [texts.figures[f], PAGES[f]];
        return (
          <span key={f}>
            {i > 0 && texts.between}
            {view === null ? title : <a {...linkProps({ view })}>{title}</a>}
          </span>
        );
      })}
    </>
  );
}
