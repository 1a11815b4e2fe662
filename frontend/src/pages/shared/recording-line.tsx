// The first line of the overview: the kind of recording, what of it is judged, and its phases.
import type { Overview, RecordingPhase } from "../../api/types";
import { duration, exactDuration } from "../../lib/format";
import { stretch } from "../../state/links";
import { t } from "../../i18n";

const texts = t.recordingLine;

export function RecordingLine({ overview }: { overview: Overview }) {
  const { recording } = overview;
  if (recording === null) return null;
  const isWhole = recording.phases.every((phase) => phase.kind === "steady");
  return (
    <section class="recording" data-testid="recording" data-key={recording.kind}>
      <p>
        {recording.sentence} {recording.hint && <span class="muted">{recording.hint}</span>}
      </p>
      {!isWhole && (
        <ul class="legend" aria-label={texts.phases} data-testid="phases">
          {recording.phases.map((phase) => (
            <Phase
              key={phase.start_ns}
              phase={phase}
              end={overview.duration_ns}
              isJudged={recording.judged_ns > 0}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

interface PhaseProps {
  phase: RecordingPhase;
  end: number;
  /** If nothing is judged, no work counts as steady. */
  isJudged: boolean;
}

function Phase({ phase, end, isJudged }: PhaseProps) {
  const length = phase.end_ns - phase.start_ns;
  return (
    <li data-key={phase.kind} data-value={length} class={phase.kind === "steady" ? "muted" : ""}>
      <a
        {...stretch(phase.start_ns, phase.end_ns, end)}
        title={[exactDuration(length), phase.sentence].filter(Boolean).join("\n")}
      >
        {phase.kind === "steady" && !isJudged ? texts.rest : texts.kinds[phase.kind]}
      </a>{" "}
      <span class="muted">{duration(length)}</span>
    </li>
  );
}
