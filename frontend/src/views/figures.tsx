// The row of key figures on top of the overview.
import type { Overview } from "../api";
import { boundOf, count, duration, percent, percentBound, plural } from "../base/format";
import { stepNumber } from "../place";
import { Figure } from "../widgets/figure";

interface KeyFiguresProps {
  /** Over all steps. */
  all: Overview;
  /** Over the selection. */
  now: Overview;
  step: number | null;
}

export function KeyFigures({ all, now, step }: KeyFiguresProps) {
  const { totals } = now;
  const { spread } = all;
  const chosen = all.steps.find((s) => step !== null && stepNumber(s.name) === step);
  const complete = all.steps.filter((s) => !s.incomplete && !s.primed).length;
  const cut = all.steps.filter((s) => s.incomplete).length;
  const primed = all.steps.length - complete - cut;
  const steps = plural(complete, "step") + (cut > 0 ? `, ${count(cut)} incomplete` : "") + (primed > 0 ? `, ${count(primed)} primed` : "");
  const average = all.average_step_ns;
  const of = step === null ? "" : `, step ${step}`;
  const inferred = all.provenance.timeline === "inferred";
  const off = (ns: number | null): string => boundOf(ns, inferred);
  return (
    <div class="figures-row">
      {chosen && (
        <Figure name="step_ns" label={`Step ${step}`} exact={chosen.duration_ns} unit="ns" value={duration(chosen.duration_ns)} bound={off(chosen.duration_bound_ns)}
          note={chosen.incomplete ? "incomplete" : average ? `${percent(chosen.duration_ns / average)} of the average` : ""}
          help="The selected step's window." />
      )}
      <Figure name="average_step_ns" label="Average step" exact={average} unit="ns" value={duration(average)}
        bound={average === null ? "" : off(all.average_step_bound_ns)}
        note={spread && complete > 1 ? `σ ${duration(spread.deviation_ns)}, ${duration(spread.min_ns)} to ${duration(spread.max_ns)}, ${steps}` : steps}
        help="Mean duration of the complete steps, with its standard deviation and extremes." />
      <Figure name="utilisation" label={step === null ? "Device utilisation" : `Utilisation${of}`} exact={now.utilisation} unit="of 1" value={percent(now.utilisation)} bound={now.utilisation === null ? "" : percentBound(now.utilisation_bound, inferred)}
        note={now.utilisation === null ? "no device times" : "busy within the steps"}
        help="Busy device time within the steps' windows, as a share of these windows." />
      {now.sm_efficiency !== null && (
        <Figure name="sm_efficiency" label={`SM efficiency${of}`} exact={now.sm_efficiency} unit="of 1" value={percent(now.sm_efficiency)}
          note={now.occupancy === null ? "" : `occupancy ${percent(now.occupancy)}`}
          help="Within the steps, the share of multiprocessors that held blocks ; and the occupancy of kernels, weighted by duration. CUPTI estimates both from launches." />
      )}
      <Figure name="busy_ns" label={`Busy${of}`} exact={totals.busy_ns} unit="ns" value={duration(totals.busy_ns)} bound={totals.busy_ns === null ? "" : off(totals.busy_bound_ns)}
        note={ofSpan(totals.busy_ns, totals.span_ns)} help="At least one device activity ran: the union over all streams." />
      <Figure name="idle_ns" label={`Idle${of}`} exact={totals.idle_ns} unit="ns" value={duration(totals.idle_ns)} bound={totals.idle_ns === null ? "" : off(totals.idle_bound_ns)}
        note={ofSpan(totals.idle_ns, totals.span_ns)} help="Between the first and the last device activity, none ran." />
      <Figure name="kernels" label={`Kernels${of}`} exact={totals.kernels} unit="kernels" value={count(totals.kernels)}
        note={others(totals)} help="Kernels on the device that are not communication; what else ran there stands below." />
      <Figure name="duration_ns" label="Recording" exact={all.duration_ns} unit="ns" value={duration(all.duration_ns)}
        note={plural(all.steps.length, "step")} help="From the first event to the last." />
    </div>
  );
}

function ofSpan(ns: number | null, span: number | null): string {
  return ns === null || !span ? "" : `${percent(ns / span)} of the device's span`;
}

function others(totals: Overview["totals"]): string {
  const { communication_kernels, memcpys, memsets } = totals;
  return [
    communication_kernels ? `${count(communication_kernels)} communication` : "",
    memcpys ? plural(memcpys, "memcpy", "memcpys") : "",
    memsets ? plural(memsets, "memset") : "",
  ].filter(Boolean).join(", ");
}
