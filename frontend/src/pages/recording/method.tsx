// The section on the method: how device times were inferred, with bounds, and what was rejected.
import type { Constant, Limit, Method as Result } from "../../api/types";
import { boundOf, count, duration, exactDuration, MISSING, percent } from "../../lib/format";
import { state } from "../../state/url";
import { t } from "../../i18n";
import { CsvButton } from "../../widgets/table/csv-button";
import { KeyFigure } from "../../widgets/controls/key-figure";
import { Changes, ElapsedKind, Refused } from "./device-times";
import { EvidenceTable } from "./evidence-table";
import { HeadRow, numbers } from "../../widgets/table/head-row";

const texts = t.method;

export function Method({ result }: { result: Result }) {
  return (
    <div class="recording-parts recording-method" data-testid="method" data-kind={result.kind ?? ""}>
      <ElapsedKind result={result} />
      <Refused result={result} />
      {result.activities !== null && <KeyFigures result={result} />}
      {result.evidence.length > 0 && (
        <section data-testid="method-evidence">
          <Head title={texts.howKnown} name="evidence" rows={result.evidence} />
          <EvidenceTable evidence={result.evidence} />
        </section>
      )}
      {result.limits.length > 0 && <Limits result={result} />}
      <Changes result={result} />
      {result.constants.length > 0 && <Constants constants={result.constants} />}
      {result.marks !== null && <Solution result={result} />}
    </div>
  );
}

function KeyFigures({ result }: { result: Result }) {
  const { step } = state.value;
  const typical = (ns: number | null): string => (ns === null ? texts.unknown : `± ${duration(ns)}`);
  return (
    <div class="figures-row">
      <KeyFigure
        name="activities"
        label={step === null ? texts.activities : texts.activitiesOf(step)}
        exact={result.activities}
        unit={texts.activitiesUnit}
        note={result.linked_share === null ? "" : texts.linked(percent(result.linked_share))}
        help={texts.activitiesHelp}
      />
      <KeyFigure
        name="device_ns"
        label={step === null ? texts.deviceTime : texts.deviceTimeOf(step)}
        exact={result.device_ns}
        unit="ns"
        bound={boundOf(result.device_bound_ns, true)}
        note={bounds(result)}
        help={texts.deviceTimeHelp}
      />
      <KeyFigure
        name="median_start_bound_ns"
        label={texts.startsTypically}
        exact={result.median_start_bound_ns}
        unit="ns"
        value={typical(result.median_start_bound_ns)}
        note={texts.medianBound}
        help={texts.besideOthers}
      />
      <SharedShift result={result} />
      <KeyFigure
        name="median_duration_bound_ns"
        label={texts.durationsTypically}
        exact={result.median_duration_bound_ns}
        unit="ns"
        value={typical(result.median_duration_bound_ns)}
        note={texts.medianBound}
        help={texts.noFarther}
      />
      <KeyFigure
        name="timed"
        label={texts.timed}
        exact={result.timed}
        unit={texts.ranges}
        note={texts.operators(result.operators)}
        help={texts.timedHelp}
      />
    </div>
  );
}

/** How far off all starts may be together; nothing if that is known. */
function SharedShift({ result: { shift_bound_ns: ns } }: { result: Result }) {
  if (!ns) return null;
  return (
    <KeyFigure
      name="shift_bound_ns"
      label={texts.allStarts}
      exact={ns}
      unit="ns"
      value={`± ${duration(ns)}`}
      note={texts.latencyShift}
      help={texts.allStartsHelp}
    />
  );
}

/** The two bounds of the device time, by name. */
function bounds({ device_worst_bound_ns: worst, device_statistical_bound_ns: statistical }: Result): string {
  return worst === null || statistical === null
    ? texts.sumOfDurations
    : texts.twoBounds(`± ${duration(worst)}`, `± ${duration(statistical)}`);
}

function Limits({ result }: { result: Result }) {
  return (
    <section>
      <Head title={texts.limits} note={texts.worstFirst} name="limits" rows={result.limits} />
      <table class="plain ranked-table" data-testid="limits">
        <HeadRow
          of={[
            texts.limit,
            texts.why,
            numbers(texts.activities),
            numbers(texts.deviceTime),
            numbers(texts.accountsFor, texts.accountsForHelp),
          ]}
        />
        <tbody>
          {result.limits.map((l) => (
            <LimitRow key={l.code} limit={l} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function LimitRow({ limit: l }: { limit: Limit }) {
  return (
    <tr data-key={l.code} data-value={l.bound_ns ?? ""}>
      <td>{l.title}</td>
      <td class="what">
        {l.message}
        {l.advice && (
          <>
            {" "}
            <a
              href={`#advice-${l.advice}`}
              onClick={(e) => {
                e.preventDefault();
                show(l.advice);
              }}
            >
              {texts.whatHelps}
            </a>
          </>
        )}
      </td>
      <td class="number">{count(l.kernels)}</td>
      <td class="number">{percent(l.share)}</td>
      <td class="number" title={l.bound_ns === null ? "" : exactDuration(l.bound_ns)}>
        {l.bound_ns === null ? MISSING : `± ${duration(l.bound_ns)}`}
        {l.bound_ns !== null && <div class="muted small">{boundKind(l.code)}</div>}
      </td>
    </tr>
  );
}

/** What the bound of a limit is of: bounds that add up are no match for one of a sum. */
const boundKind = (code: string): string =>
  (texts.boundKinds as Readonly<Record<string, string>>)[code] ?? "";

function show(code: string | null): void {
  const element = document.getElementById(`advice-${code}`);
  element?.scrollIntoView({ block: "center" });
  element?.focus({ preventScroll: true });
}

function Constants({ constants }: { constants: readonly Constant[] }) {
  return (
    <section>
      <Head title={texts.constants} name="constants" rows={constants} />
      <table class="plain" data-testid="constants">
        <HeadRow
          of={[
            texts.constant,
            numbers(texts.value),
            numbers(texts.between, texts.betweenHelp),
            texts.source,
            numbers(texts.samples, texts.samplesHelp),
            texts.evidence,
          ]}
        />
        <tbody>
          {constants.map((c) => (
            <tr key={c.name} data-key={c.name} data-value={c.value_ns} data-source={c.source}>
              <td>{texts.constantNames[c.name]}</td>
              <td class="number" title={exactDuration(c.value_ns)}>
                {duration(c.value_ns)}
              </td>
              <td class="number">{range(c)}</td>
              <td class={c.source === "assumed" ? "warn" : ""}>{texts.sources[c.source]}</td>
              <td class="number">{count(c.samples)}</td>
              <td class="muted">{c.evidence}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function range({ least_ns: least, most_ns: most }: Constant): string {
  if (least === null && most === null) return MISSING;
  if (most === null) return texts.orMore(duration(least));
  return least === null ? texts.orLess(duration(most)) : texts.fromTo(duration(least), duration(most));
}

function help(r: Result, name: keyof typeof texts.solutionRows): string {
  if (name === "elsewhere" && r.others.length > 0) return texts.seenBehind(r.others.join(", "));
  if (name === "self_test_held" && r.self_test !== null) return texts.ofPlanted(count(r.self_test));
  return texts.solutionRows[name].help;
}

function Solution({ result: r }: { result: Result }) {
  const {
    marks,
    anchors,
    refuted_anchors,
    late_stamps,
    crossing,
    claims,
    dropped_claims,
    elsewhere,
    primed,
    self_test_held,
  } = r;
  const counts = { marks, anchors, refuted_anchors, late_stamps, crossing };
  const values = { ...counts, claims, dropped_claims, elsewhere, primed, self_test_held };
  const rows = Object.entries(values) as [keyof typeof texts.solutionRows, number | null][];
  return (
    <section>
      <Head title={texts.solution} name="solution" rows={rows.map(([name, value]) => ({ name, value }))} />
      <table class="plain" data-testid="solution">
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name} data-key={name} data-value={value ?? ""}>
              <td>{texts.solutionRows[name].name}</td>
              <td class="number">{count(value)}</td>
              <td class="muted">
                {help(r, name)}
                {name === "dropped_claims" && r.dropped.length > 0 && (
                  <details>
                    <summary>{texts.droppedAt}</summary>
                    {r.dropped.map((one) => `${one.operator} (${duration(one.ts_ns)})`).join(", ")}
                  </details>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface HeadProps {
  title: string;
  note?: string;
  name: string;
  rows: readonly object[];
}

/** A section's title, and its table as CSV. */
function Head({ title, note, name, rows }: HeadProps) {
  return (
    <h3 class="withcsv">
      {title} {note && <small class="muted">{note}</small>}
      <CsvButton name={name} file={`method-${name}`} rows={rows} />
    </h3>
  );
}
