// The quality page: data warnings with examples, contents of the file, links between events.
import { useEffect, useRef } from "preact/hooks";
import type { Extent, Finding, Quality as Result } from "../../api/types";
import { bytes, count, duration, exactDuration, MISSING, percent } from "../../lib/format";
import { useView } from "../../state/use-result";
import { state } from "../../state/url";
import { t } from "../../i18n";
import { CsvButton } from "../../widgets/table/csv-button";
import { KeyFigure } from "../../widgets/controls/key-figure";
import { SeverityMark, type Figures } from "../shared/data-warnings";
import { EventLink } from "../shared/event-link";
import { linkProps } from "../../state/links";
import type { PageProps } from "../page-props";
import { Show } from "../shared/load-states";
import { Facts } from "../shared/cards";

const texts = t.quality;

export function Quality({ selected }: PageProps) {
  return <Show resource={useView("quality", selected, {})}>{(result) => <Page result={result} />}</Show>;
}

function Page({ result }: { result: Result }) {
  return (
    <div class="quality">
      <KeyFigures result={result} />
      <section>
        <h2>
          {texts.findings} <small class="muted">{texts.worstFirst}</small>
        </h2>
        {result.rows.length === 0 ? <Nothing result={result} /> : <Rows rows={result.rows} />}
      </section>
      <div class="columns equal">
        <section>
          <h2>{texts.recording}</h2>
          <Extents result={result} />
        </section>
        <section>
          <h2>
            {texts.events} <small class="muted">{texts.eventsNote}</small>
          </h2>
          <Categories result={result} />
        </section>
        <Facts title={texts.howRecorded} facts={result.facts} testid="run-facts" />
      </div>
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
        value={count(result.errors)}
        help={texts.errorsHelp}
      />
      <KeyFigure
        name="warnings"
        label={texts.warnings}
        exact={result.warnings}
        unit={texts.findingsUnit}
        value={count(result.warnings)}
        help={texts.warningsHelp}
      />
      <KeyFigure
        name="notes"
        label={texts.notes}
        exact={result.notes}
        unit={texts.findingsUnit}
        value={count(result.notes)}
        help={texts.notesHelp}
      />
      <LinkFigures result={result} />
      <KeyFigure
        name="events"
        label={texts.events}
        exact={result.events}
        unit={texts.eventsUnit}
        value={count(result.events)}
        note={result.size_bytes === null ? "" : bytes(result.size_bytes)}
        help={texts.eventsHelp}
      />
    </div>
  );
}

/** How much of the device's time has its operator. */
function LinkFigures({ result }: { result: Result }) {
  const { step } = state.value;
  const lost =
    result.activities === null || result.linked === null ? null : result.activities - result.linked;
  return (
    <>
      <KeyFigure
        name="linked_share"
        label={step === null ? texts.linked : texts.linkedOf(step)}
        exact={result.linked_share}
        unit={texts.ofOne}
        value={percent(result.linked_share)}
        note={
          lost === null
            ? texts.noDeviceTimes
            : lost === 0
              ? texts.allActivities
              : texts.notLinked(lost, count(result.activities))
        }
        help={texts.linkedHelp}
      />
      <KeyFigure
        name="unlinked_ns"
        label={step === null ? texts.unlinkedTime : texts.unlinkedTimeOf(step)}
        exact={result.unlinked_ns}
        unit="ns"
        value={duration(result.unlinked_ns)}
        note={result.unlinked_share === null ? "" : texts.ofDeviceTime(percent(result.unlinked_share))}
        help={texts.unlinkedTimeHelp}
      />
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
      <table class="plain ranked" data-testid="table-findings" data-rows={rows.length}>
        <thead>
          <tr>
            <th scope="col">{texts.severity}</th>
            <th scope="col">{texts.what}</th>
            <th scope="col" class="number">
              {texts.count}
            </th>
            <th scope="col">{texts.affects}</th>
            <th scope="col">{texts.examples}</th>
          </tr>
        </thead>
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
          <ul class="examples">
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

/** When host and device were recorded, on one axis. */
function Extents({ result }: { result: Result }) {
  const whole = Math.max(1, result.duration_ns);
  const inferred = result.provenance.timeline === "inferred" ? "inferred" : "";
  const row = (label: keyof typeof texts.extents, extent: Extent | null, fill: string, look = "") => (
    <tr data-key={label}>
      <th scope="row">{texts.extents[label]}</th>
      {extent === null ? (
        <td class="muted" colSpan={2}>
          {texts.nothingRecorded}
        </td>
      ) : (
        <>
          <td class="extent">
            <span
              class={look}
              style={{
                left: `${(100 * extent.start_ns) / whole}%`,
                width: `${(100 * (extent.end_ns - extent.start_ns)) / whole}%`,
                "--fill": fill,
              }}
            />
          </td>
          <td
            class="number"
            title={texts.fromTo(exactDuration(extent.start_ns), exactDuration(extent.end_ns))}
          >
            {texts.fromTo(duration(extent.start_ns), duration(extent.end_ns))}
          </td>
        </>
      )}
    </tr>
  );
  const extents = [
    { of: "host", ...result.host },
    { of: "device", ...result.device },
  ];
  return (
    <div class="withcsv">
      <CsvButton name="extents" rows={extents} />
      <table class="extents" data-testid="extents">
        <tbody>
          {row("host", result.host, "var(--cpu)")}
          {row("device", result.device, "var(--kernel)", inferred)}
        </tbody>
      </table>
    </div>
  );
}

function Categories({ result }: { result: Result }) {
  if (result.categories.length === 0) return <p class="muted">{texts.none}</p>;
  return (
    <div class="withcsv">
      <CsvButton name="categories" rows={result.categories} />
      <table class="plain" data-testid="categories">
        <thead>
          <tr>
            <th scope="col">{texts.category}</th>
            <th scope="col" class="number">
              {texts.events}
            </th>
            <th scope="col" class="number">
              {texts.share}
            </th>
          </tr>
        </thead>
        <tbody>
          {result.categories.map((c) => (
            <tr key={c.name} data-key={c.name} data-value={c.events}>
              <td>{c.name || texts.noCategory}</td>
              <td class="number">{count(c.events)}</td>
              <td class="number">{percent(c.events / result.events)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
