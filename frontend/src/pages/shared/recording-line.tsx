// The first line of the overview: the kind of recording, what of it is judged, and its phases.
import type { Overview, RecordingPhase } from "../../api/types";
import { duration, exactDuration } from "../../lib/format";
import { toInterval } from "../../state/links";
import { t } from "../../i18n";
import "./recording-line.css";

const texts = t.recordingLine;

export function RecordingLine({ overview }: { overview: Overview }) {
  const { recording } = overview;
  if (recording === null) return null;
  const isWhole = recording.phases.every((phase) => phase.kind === "steady");
  return (
    <section class="recording-line" data-testid="recording" data-key={recording.kind}>
      <p>
        {recording.sentence} {recording.hint && <span class="muted">{recording.hint}</span>}
      </p>
      {!isWhole && <Strip phases={recording.phases} whole={overview.duration_ns} />}
      {!isWhole && (
        <ul class="legend" aria-label={texts.phases} data-testid="phases">
          {partsOf(recording.phases).map((part) => (
            <Phase
              key={part.phase.start_ns}
              part={part}
              end={overview.duration_ns}
              isJudged={recording.judged_ns > 0}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

const phaseColor = (kind: RecordingPhase["kind"]): string => `var(--phase-${kind})`;

/** The phases in proportion; the list below names them. */
function Strip({ phases, whole }: { phases: readonly RecordingPhase[]; whole: number }) {
  return (
    <div class="phase-strip" aria-hidden="true" data-testid="phase-strip">
      {phases.map((phase) => (
        <i
          key={phase.start_ns}
          data-kind={phase.kind}
          title={`${texts.kinds[phase.kind]} ${duration(lengthOf(phase))}`}
          style={{
            "--fill": phaseColor(phase.kind),
            left: `${(100 * phase.start_ns) / whole}%`,
            width: `${(100 * lengthOf(phase)) / whole}%`,
          }}
        />
      ))}
    </div>
  );
}

/** One phase, or all of one kind. */
interface Part {
  /** The only one, or the longest. */
  phase: RecordingPhase;
  ns: number;
  phases: number;
}

/** More phases than this are shown by their kind. */
const MOST = 6;

function partsOf(phases: readonly RecordingPhase[]): Part[] {
  const parts = new Map<string | number, Part>();
  for (const phase of phases) {
    const key = phases.length > MOST ? phase.kind : phase.start_ns;
    const part = parts.get(key);
    const longest = part && lengthOf(part.phase) >= lengthOf(phase) ? part.phase : phase;
    parts.set(key, {
      phase: longest,
      ns: (part?.ns ?? 0) + lengthOf(phase),
      phases: (part?.phases ?? 0) + 1,
    });
  }
  return [...parts.values()];
}

const lengthOf = ({ start_ns: start, end_ns: end }: RecordingPhase): number => end - start;

interface PhaseProps {
  part: Part;
  end: number;
  /** If nothing is judged, no work counts as steady. */
  isJudged: boolean;
}

function Phase({ part: { phase, ns, phases }, end, isJudged }: PhaseProps) {
  return (
    <li data-key={phase.kind} data-value={ns} class={phase.kind === "steady" ? "muted" : ""}>
      <i class="phase-mark" style={{ "--fill": phaseColor(phase.kind) }} aria-hidden="true" />
      <a
        {...toInterval(phase.start_ns, phase.end_ns, end)}
        title={[exactDuration(ns), phase.sentence].filter(Boolean).join("\n")}
      >
        {phase.kind === "steady" && !isJudged ? texts.rest : texts.kinds[phase.kind]}
      </a>{" "}
      <span class="muted">
        {duration(ns)}
        {phases > 1 && ` ${texts.parts(phases)}`}
      </span>
    </li>
  );
}
