// The source of device times: measured, inferred, or host only.
import type { Evidence, Overview } from "../../api/types";
import { bound } from "../../lib/format";
import { t } from "../../i18n";
import { CodeBlock } from "../../widgets/controls/code-block";
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

/** What the source means. `close` is called when the way on is taken. */
export function TimelineSource({ overview, close }: { overview: Overview; close: () => void }) {
  const { meaning, way } = texts.explained[overview.provenance.timeline];
  return (
    <p>
      {meaning}{" "}
      <a
        {...linkProps({ view: "recording", section: "method" })}
        onClickCapture={close}
        data-testid="to-method"
      >
        {way}
      </a>
    </p>
  );
}

const CAPTURE = `from tb_privateuse1 import capture
with capture.profile(on_trace_ready=capture.tensorboard_trace_handler("./log")) as prof:
    ...  # ${texts.yourSteps}`;

/** The lines that record what this dashboard can show. */
export function CaptureLines() {
  return <CodeBlock text={CAPTURE} />;
}
