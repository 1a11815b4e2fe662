// Activities by timing method, with the bounds of their starts and durations.
import type { Evidence } from "../../api/types";
import { lookOf } from "../../lib/color";
import { boundOf, count, duration, exactDuration, MISSING, percent } from "../../lib/format";
import { t } from "../../i18n";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import "./evidence-table.css";

const texts = t.timelineSource;

export function EvidenceTable({ evidence }: { evidence: readonly Evidence[] }) {
  return (
    <div class="evidence">
      <table class="plain">
        <EvidenceHead />
        <tbody>
          {evidence.map((e) => (
            <EvidenceRow key={e.evidence} evidence={e} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function EvidenceHead() {
  return (
    <HeadRow
      of={[
        texts.columns.evidence,
        numbers(texts.columns.activities),
        numbers(texts.columns.deviceTime),
        numbers(texts.columns.share),
        numbers(texts.columns.startTypical, texts.columns.startTypicalHelp),
        numbers(texts.columns.startLargest),
        numbers(texts.columns.durationTypical, texts.columns.durationTypicalHelp),
        numbers(texts.columns.durationLargest),
        numbers(texts.columns.unbounded, texts.columns.unboundedHelp),
      ]}
    />
  );
}

function EvidenceRow({ evidence: e }: { evidence: Evidence }) {
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
        <Off evidence={e} ns={e.largest_start_bound_ns} />
        <Off evidence={e} ns={e.median_duration_bound_ns} />
        <Off evidence={e} ns={e.largest_duration_bound_ns} />
        <td class="number">{e.unbounded === 0 ? MISSING : count(e.unbounded)}</td>
      </tr>
      {/* Beside these columns there is no room for a sentence. */}
      <tr class="meaning">
        <td class="muted" colSpan={9}>
          {texts.evidence[e.evidence].meaning}
        </td>
      </tr>
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
