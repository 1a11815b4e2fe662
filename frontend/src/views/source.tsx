// Measured, inferred or host only: what the words mean, and how well each activity is known.
import type { Evidence, Overview } from "../api";
import { lookOf } from "../base/color";
import { bound, boundOf, count, duration, exactDuration, MISSING, percent } from "../base/format";
import { Code } from "../widgets/code";
import { CsvButton } from "../widgets/csvbutton";
import { linkProps } from "./link";

const MEANINGS: Readonly<Record<string, string>> = {
  measured: "Start and end were recorded by the device's own profiler.",
  events: "The device was behind the host, so the time between the operator's two events is device time.",
  end_pinned: "The device caught up inside the operator: its end is known well, its start less.",
  catalogue: "The duration is that of other calls of the same operator.",
  sync: "The end is that of a host call that waited for the device.",
  bound: "Only limits are known: after its launch, before the next known event.",
};

/** The shortest word for where device times come from. */
export function sourceLabel({ provenance, evidence }: Overview): string {
  switch (provenance.timeline) {
    case "measured": return "measured";
    case "none": return "host only";
    case "inferred": {
      const typical = typicalBound(evidence);
      return typical === null ? "inferred" : `inferred ${bound(typical) || "± 0 ns"}`;
    }
  }
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

const EXPLAINED = {
  measured: "Device times were measured: a device profiler recorded when each activity started and ended. They are drawn solid.",
  inferred: "Device times were inferred: the trace has host times and, per operator, the time that passed on the device "
    + "between two events. Starts and ends follow from these and from the order of each stream. They are drawn hatched, "
    + "hollow where only limits are known, their figures are in italics, and ± says how far off they may be.",
  none: "The trace has host times only. Nothing about the device can be told from it, and nothing is made up.",
} as const;

/** What the source means, and the table of evidence. `close` is called when the way on is taken. */
export function Source({ overview: { provenance, evidence }, close }: { overview: Overview; close?: () => void }) {
  const way = { measured: "How it is known", inferred: "How it was inferred, and what limits it", none: "Why, and what to change" }[provenance.timeline];
  return (
    <div data-testid="evidence">
      <p>{EXPLAINED[provenance.timeline]} <a {...linkProps({ view: "method" })} {...(close && { onClickCapture: close })} data-testid="to-method">{way}</a></p>
      <EvidenceTable evidence={evidence} />
    </div>
  );
}

/** Activities by how they are known; `whole` has the largest bounds, too. */
export function EvidenceTable({ evidence, whole = false }: { evidence: readonly Evidence[]; whole?: boolean }) {
  if (evidence.length === 0) return null;
  const off = (e: Evidence, ns: number | null) => (
    <td class="number" title={ns === null ? "not known" : exactDuration(ns)}>{e.evidence === "measured" ? "exact" : ns === null ? "unknown" : `± ${duration(ns)}`}</td>
  );
  return (
    <>
    <table class="plain">
      <thead>
        <tr>
          <th scope="col">Evidence</th><th scope="col" class="number">Activities</th><th scope="col" class="number">Device time</th><th scope="col" class="number">Share</th>
          <th scope="col" class="number" title="The median of the bounds of their starts.">Start, typical</th>
          {whole && <th scope="col" class="number">Start, largest</th>}
          <th scope="col" class="number" title="The median of the bounds of their durations.">Duration, typical</th>
          {whole && <><th scope="col" class="number">Duration, largest</th><th scope="col" class="number" title="Activities of which nothing tells how far off their start may be.">Unbounded</th></>}
          <th scope="col">What it means</th>
        </tr>
      </thead>
      <tbody>
        {evidence.map((e) => (
          <tr key={e.evidence} data-key={e.evidence} data-value={e.kernels} data-look={lookOf(e.evidence)}>
            <td><i class={`swatch ${lookOf(e.evidence)}`} style={{ "--fill": "var(--kernel)" }} />{e.evidence.replace("_", " ")}</td>
            <td class="number">{count(e.kernels)}</td>
            <td class="number" title={exactDuration(e.total_ns)}>{duration(e.total_ns)} {e.evidence !== "measured" && <span class="muted">{boundOf(e.bound_ns, true)}</span>}</td>
            <td class="number">{percent(e.share)}</td>
            {off(e, e.median_start_bound_ns)}
            {whole && off(e, e.largest_start_bound_ns)}
            {off(e, e.median_duration_bound_ns)}
            {whole && <>{off(e, e.largest_duration_bound_ns)}<td class="number">{e.unbounded === 0 ? MISSING : count(e.unbounded)}</td></>}
            <td class="muted">{MEANINGS[e.evidence] ?? ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
    {!whole && <CsvButton name="evidence" rows={evidence} />}
    </>
  );
}

const CAPTURE = `from tb_privateuse1 import capture
with capture.profile(on_trace_ready=capture.tensorboard_trace_handler("./log")) as prof:
    ...  # your steps, each followed by prof.step()`;

/** The lines that record what this dashboard can show. */
export function CaptureLines() {
  return <Code text={CAPTURE} />;
}
