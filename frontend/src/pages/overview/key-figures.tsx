// The row of key figures on top of the overview.
import { phaseOf } from "../../api/phases";
import type { Overview, StepCounts } from "../../api/types";
import { boundOf, duration, percent, percentRange } from "../../lib/format";
import { stepNumber } from "../../state/selection";
import { t } from "../../i18n";
import { KeyFigure } from "../../widgets/controls/key-figure";

const texts = t.keyFigures;

interface KeyFiguresProps {
  /** Over all steps. */
  all: Overview;
  /** Over the selection. */
  now: Overview;
  step: number | null;
  /** Of all steps, where `all` has only some of them. */
  counts?: StepCounts;
}

export function KeyFigures({ all, now, step, counts = all.step_counts }: KeyFiguresProps) {
  const inferred = all.provenance.timeline === "inferred";
  const steps = counts.numbered;
  return (
    <div class="figures-row">
      {(steps > 0 || all.average_step_ns !== null) && <StepFigures all={all} step={step} counts={counts} />}
      <DeviceFigures now={now} step={step} hasSteps={steps > 0} inferred={inferred} />
      <KeyFigure
        name="duration_ns"
        label={texts.recording.label}
        exact={all.duration_ns}
        unit="ns"
        note={isPhase(all) ? "" : texts.recording.steps(steps)}
        help={texts.recording.help}
      />
    </div>
  );
}

/** The selected step, and the average of all. */
function StepFigures({ all, step, counts }: Required<Omit<KeyFiguresProps, "now">>) {
  const { spread } = all;
  const { complete, incomplete, primed } = counts;
  const chosen = all.steps.find((s) => step !== null && stepNumber(s.name) === step);
  const window = all.provenance.window;
  const averaged = window?.kind === "steady" ? window.recorded_steps : complete;
  const listed = texts.steps(complete, incomplete, primed);
  const steps = averaged < complete ? texts.average.part(averaged, listed) : listed;
  const average = all.average_step_ns;
  const inferred = all.provenance.timeline === "inferred";
  return (
    <>
      {chosen && (
        <KeyFigure
          name="step_ns"
          label={texts.step.label(step)}
          exact={chosen.duration_ns}
          unit="ns"
          bound={boundOf(chosen.duration_bound_ns, inferred)}
          note={
            chosen.incomplete
              ? texts.step.incomplete
              : average
                ? texts.step.ofAverage(percent(chosen.duration_ns / average))
                : ""
          }
          help={texts.step.help}
        />
      )}
      <KeyFigure
        name="average_step_ns"
        label={averageLabel(counts)}
        exact={average}
        unit="ns"
        bound={average === null ? "" : boundOf(all.average_step_bound_ns, inferred)}
        note={
          spread && (counts.numbered === 0 || complete > 1)
            ? texts.average.note(
                duration(spread.deviation_ns),
                duration(spread.min_ns),
                duration(spread.max_ns),
                counts.numbered === 0 ? texts.average.ofIterations : steps,
              )
            : steps
        }
        help={texts.average.help}
      />
    </>
  );
}

interface DeviceFiguresProps {
  now: Overview;
  step: number | null;
  /** Without recorded steps the figures are of the recording. */
  hasSteps: boolean;
  inferred: boolean;
}

function DeviceFigures({ now, step, hasSteps, inferred }: DeviceFiguresProps) {
  return (
    <>
      {now.utilization !== null && (
        <KeyFigure
          name="utilization"
          label={texts.utilization.label(step)}
          exact={now.utilization}
          unit={texts.share}
          value={percent(now.utilization)}
          bound={utilizationRange(now, inferred)}
          note={hasSteps ? texts.utilization.note : texts.utilization[noteOf(now)]}
          help={texts.utilization.help}
        />
      )}
      {now.sm_efficiency !== null && (
        <KeyFigure
          name="sm_efficiency"
          label={texts.smEfficiency.label(step)}
          exact={now.sm_efficiency}
          unit={texts.share}
          value={percent(now.sm_efficiency)}
          note={now.occupancy === null ? "" : texts.smEfficiency.note(percent(now.occupancy))}
          help={texts.smEfficiency.help}
        />
      )}
      {now.totals.kernels !== null && (
        <KeyFigure
          name="kernels"
          label={texts.kernels.label(step)}
          exact={now.totals.kernels}
          unit={texts.kernels.unit}
          note={others(now.totals)}
          help={texts.kernels.help}
        />
      )}
    </>
  );
}

const averageLabel = ({ complete, numbered }: StepCounts): string =>
  numbered === 0 ? texts.average.iteration : complete === 1 ? texts.average.single : texts.average.label;

function noteOf(now: Overview): "noteOfSteady" | "noteOfAll" | "noteOfPhase" {
  const kind = now.provenance.window?.kind;
  if (isPhase(now)) return "noteOfPhase";
  return kind === "steady" ? "noteOfSteady" : "noteOfAll";
}

/** Of a phase of serving, whose iterations stand for the recorded steps. */
const isPhase = ({ provenance: { window } }: Overview): boolean => phaseOf(window?.kind) !== null;

/** `(50.0 to 75.0 %)`; nothing for what is measured. */
function utilizationRange({ utilization_low: low, utilization_high: high }: Overview, inferred: boolean) {
  if (low === null || high === null) return inferred ? texts.between(t.format.unknownRange) : "";
  return low === high ? "" : texts.between(percentRange(low, high));
}

function others(totals: Overview["totals"]): string {
  const { communication_kernels, memcpys, memsets, unknown_activities } = totals;
  return texts.kernels.others(
    communication_kernels ?? 0,
    memcpys ?? 0,
    memsets ?? 0,
    unknown_activities ?? 0,
  );
}
