// The source of device times (measured, inferred, host only), and the evidence for each activity.
import type { Evidence, Overview } from "../../api/types";
import { lookOf } from "../../lib/color";
import { bound, boundOf, count, duration, exactDuration, MISSING, percent } from "../../lib/format";
import { t } from "../../i18n";
import { CodeBlock } from "../../widgets/controls/code-block";
import { CsvButton } from "../../widgets/table/csv-button";
import { linkProps } from "../../state/links";

const texts = t.timelineSource;

/** The shortest word for where device times come from. */
export function sourceLabel({ provenance, evidence }: Overview): string {
  const typical = provenance.timeline === "inferred" ? typicalBound(evidence) : null;
  return typical === null
    ? texts.explained[provenance.timeline].label
    : texts.inferredWithin(bound(typical) || "± 0 ns");
}

/** The start's bound of the activity in the middle, if they are put in the order of their bounds. */
export function typicalBound(evidence: readonly Evidence[]): number | null {
  const known = evidence
    .filter((e) => e.evidence !== "measured" && e.median_start_bound_ns !== null)
    .sort((a, b) => (a.median_start_bound_ns ?? 0) - (b.median_start_bound_ns ?? 0));
  let left = known.reduce((sum, e) => sum + e.kernels, 0) / 2;
  for (const e of known) {
    left -= e.kernels;
    if (left <= 0) return e.median_start_bound_ns;
  }
  return null;
}

/** What the source means, and the table of evidence. `close` is called when the way on is taken. */
export function TimelineSource({
  overview: { provenance, evidence },
  close,
}: {
  overview: Overview;
  close?: () => void;
}) {
  const { meaning, way } = texts.explained[provenance.timeline];
  return (
    <div data-testid="evidence">
      <p>
        {meaning}{" "}
        <a
          {...linkProps({ view: "method" })}
          {...(close && { onClickCapture: close })}
          data-testid="to-method"
        >
          {way}
        </a>
      </p>
      <EvidenceTable evidence={evidence} />
    </div>
  );
}

/** Activities by how they are known; `whole` has the largest bounds, too. */
export function EvidenceTable({
  evidence,
  whole = false,
}: {
  evidence: readonly Evidence[];
  whole?: boolean;
}) {
  if (evidence.length === 0) return null;
  return (
    <>
      <div class={whole ? "evidence whole" : "evidence"}>
        <table class="plain">
          <EvidenceHead whole={whole} />
          <tbody>
            {evidence.map((e) => (
              <EvidenceRow key={e.evidence} evidence={e} whole={whole} />
            ))}
          </tbody>
        </table>
      </div>
      {!whole && <CsvButton name="evidence" rows={evidence} />}
    </>
  );
}

function EvidenceHead({ whole }: { whole: boolean }) {
  return (
    <thead>
      <tr>
        <th scope="col">{texts.columns.evidence}</th>
        <th scope="col" class="number">
          {texts.columns.activities}
        </th>
        <th scope="col" class="number">
          {texts.columns.deviceTime}
        </th>
        <th scope="col" class="number">
          {texts.columns.share}
        </th>
        <th scope="col" class="number" title={texts.columns.startTypicalHelp}>
          {texts.columns.startTypical}
        </th>
        {whole && (
          <th scope="col" class="number">
            {texts.columns.startLargest}
          </th>
        )}
        <th scope="col" class="number" title={texts.columns.durationTypicalHelp}>
          {texts.columns.durationTypical}
        </th>
        {whole && (
          <>
            <th scope="col" class="number">
              {texts.columns.durationLargest}
            </th>
            <th scope="col" class="number" title={texts.columns.unboundedHelp}>
              {texts.columns.unbounded}
            </th>
          </>
        )}
        {!whole && <th scope="col">{texts.columns.meaning}</th>}
      </tr>
    </thead>
  );
}

function EvidenceRow({ evidence: e, whole }: { evidence: Evidence; whole: boolean }) {
  return (
    <>
      <tr data-key={e.evidence} data-value={e.kernels} data-look={lookOf(e.evidence)}>
        <td>
          <i class={`swatch ${lookOf(e.evidence)}`} style={{ "--fill": "var(--kernel)" }} />
          {texts.evidence[e.evidence].label}
        </td>
        <td class="number">{count(e.kernels)}</td>
        <td class="number" title={exactDuration(e.total_ns)}>
          {duration(e.total_ns)}{" "}
          {e.evidence !== "measured" && <span class="muted">{boundOf(e.bound_ns, true)}</span>}
        </td>
        <td class="number">{percent(e.share)}</td>
        <Off evidence={e} ns={e.median_start_bound_ns} />
        {whole && <Off evidence={e} ns={e.largest_start_bound_ns} />}
        <Off evidence={e} ns={e.median_duration_bound_ns} />
        {whole && (
          <>
            <Off evidence={e} ns={e.largest_duration_bound_ns} />
            <td class="number">{e.unbounded === 0 ? MISSING : count(e.unbounded)}</td>
          </>
        )}
        {!whole && <td class="muted">{texts.evidence[e.evidence].meaning}</td>}
      </tr>
      {/* Beside so many columns there is no room for a sentence. */}
      {whole && (
        <tr class="told">
          <td class="muted" colSpan={9}>
            {texts.evidence[e.evidence].meaning}
          </td>
        </tr>
      )}
    </>
  );
}

/** How far off a start or a duration may be. */
function Off({ evidence: { evidence }, ns }: { evidence: Evidence; ns: number | null }) {
  return (
    <td class="number" title={ns === null ? texts.notKnown : exactDuration(ns)}>
      {evidence === "measured" ? texts.exact : ns === null ? texts.unknown : `± ${duration(ns)}`}
    </td>
  );
}

const CAPTURE = `from tb_privateuse1 import capture
with capture.profile(on_trace_ready=capture.tensorboard_trace_handler("./log")) as prof:
    ...  # ${texts.yourSteps}`;

/** The lines that record what this dashboard can show. */
export function CaptureLines() {
  return <CodeBlock text={CAPTURE} />;
}
