// Measured, inferred or host only: what the words mean, and how well each activity is known.
import type { Evidence, Overview } from "../api";
import { bound, count, duration, exactDuration, percent } from "../base/format";
import { Code } from "../widgets/code";

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

/** The bound of the kernel in the middle, if kernels are put in the order of their bounds. */
export function typicalBound(evidence: readonly Evidence[]): number | null {
  const known = evidence
    .filter((e) => e.evidence !== "measured" && e.median_bound_ns !== null)
    .sort((a, b) => (a.median_bound_ns ?? 0) - (b.median_bound_ns ?? 0));
  let left = known.reduce((sum, e) => sum + e.kernels, 0) / 2;
  for (const e of known) {
    left -= e.kernels;
    if (left <= 0) return e.median_bound_ns;
  }
  return null;
}

const EXPLAINED = {
  measured: "Device times were measured: a device profiler recorded when each activity started and ended. They are drawn solid.",
  inferred: "Device times were inferred: the trace has host times and, per operator, the time that passed on the device "
    + "between two events. Starts and ends follow from these and from the order of each stream. They are drawn hatched, "
    + "and ± says how far off they may be.",
  none: "The trace has host times only. Nothing about the device can be told from it, and nothing is made up.",
} as const;

/** What the source means, and the table of evidence. */
export function Source({ overview: { provenance, evidence } }: { overview: Overview }) {
  const total = evidence.reduce((sum, e) => sum + e.total_ns, 0);
  return (
    <div data-testid="evidence">
      <p>{EXPLAINED[provenance.timeline]}</p>
      {evidence.length > 0 && (
        <table class="plain">
          <thead><tr><th>Evidence</th><th class="number">Activities</th><th class="number">Device time</th><th class="number">Share</th><th class="number">Typical bound</th><th>What it means</th></tr></thead>
          <tbody>
            {evidence.map((e) => (
              <tr key={e.evidence} data-key={e.evidence}>
                <td><i class={e.evidence === "measured" ? "swatch" : "swatch inferred"} style={{ "--fill": "var(--kernel)" }} />{e.evidence.replace("_", " ")}</td>
                <td class="number">{count(e.kernels)}</td>
                <td class="number" title={exactDuration(e.total_ns)}>{duration(e.total_ns)}</td>
                <td class="number">{percent(total > 0 ? e.total_ns / total : null)}</td>
                <td class="number" title={exactDuration(e.median_bound_ns)}>{e.evidence === "measured" ? "exact" : e.median_bound_ns === null ? "unknown" : `± ${duration(e.median_bound_ns)}`}</td>
                <td class="muted">{MEANINGS[e.evidence] ?? ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

const CAPTURE = `from tb_privateuse1 import capture
with capture.profile(on_trace_ready=capture.tensorboard_trace_handler("./log")) as prof:
    ...  # your steps, each followed by prof.step()`;

/** The lines that record what this dashboard can show. */
export function CaptureLines() {
  return <Code text={CAPTURE} />;
}
