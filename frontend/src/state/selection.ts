// The selected trace: from the URL and the runs in the logdir.
import type { Overview, Run, Runs, Span, Worker } from "../api/types";
import type { Place } from "../api/client";
import { phaseOf } from "../api/phases";
import type { State } from "./url";
import { t } from "../i18n";

export interface Selected {
  place: Place;
  /** Null where the URL names what is not (or no longer) there: the server says so in words. */
  run: Run | null;
  worker: Worker | null;
  span: Span | null;
  /** Changes when the trace's files do: a result is kept only as long as it is the same. */
  stamp: string;
}

type Choices = Pick<State, "run" | "rank" | "span" | "step"> & Partial<Pick<State, "window">>;

/** The first run, its lowest rank, its latest span and the steady part, unless the URL says otherwise;
 * null if there is nothing to choose from, or not yet: which span is the latest is known once the
 * logdir was searched. */
export function select(runs: Runs, state: Choices): Selected | null {
  const run = state.run === null ? runs.runs[0] : runs.runs.find((r) => r.run === state.run);
  if (!run && (state.run === null || (runs.runs.length === 0 && !runs.scanning))) return null;
  const workers = [...(run?.workers ?? [])].sort((a, b) => a.rank - b.rank);
  const worker = state.rank === null ? workers[0] : workers.find((w) => w.rank === state.rank);
  const spans = [...(worker?.spans ?? [])].sort((a, b) => b.span - a.span);
  const span = state.span === null ? spans[0] : spans.find((s) => s.span === state.span);
  if (!span && runs.scanning) return null;
  return {
    place: {
      run: run?.run ?? state.run ?? "",
      rank: worker?.rank ?? state.rank ?? 0,
      span: span?.span ?? state.span ?? 1,
      step: state.step,
      // A step of a phase is one of its iterations.
      window: phaseOf(state.window) ?? (state.step === null && state.window === "all" ? "all" : undefined),
    },
    run: run ?? null,
    worker: worker ?? null,
    span: span ?? null,
    stamp: stampOf(span),
  };
}

/** The step of a view that knows no phases of serving: an iteration of a phase is no step of its. */
export const recordedStep = ({
  step,
  window,
}: {
  step: number | null;
  window?: string | null | undefined;
}) => (phaseOf(window) === null ? step : null);

const stampOf = (span: Span | undefined): string =>
  span ? `${span.modified_ns}/${span.bytes}/${span.has_sidecar}` : "";

/** The same span of another rank of the run. */
export function withRank(selected: Selected, rank: number): Selected {
  const worker = selected.run?.workers.find((w) => w.rank === rank);
  const span = worker?.spans.find((s) => s.span === selected.place.span);
  return {
    ...selected,
    place: { ...selected.place, rank },
    worker: worker ?? null,
    span: span ?? null,
    stamp: stampOf(span),
  };
}

/** The selection for a view of all its ranks: another rank is no other question, and a change of any
 * rank's trace is one. */
export function ofAllRanks(selected: Selected): Selected {
  const workers = selected.run?.workers ?? [];
  const spans = workers.flatMap((w) => w.spans);
  const latest = spans.reduce((most, s) => Math.max(most, s.modified_ns ?? 0), 0);
  const size = spans.reduce((sum, s) => sum + s.bytes, 0);
  const rank = workers.reduce((least, w) => Math.min(least, w.rank), workers[0]?.rank ?? selected.place.rank);
  return {
    ...selected,
    place: { ...selected.place, rank },
    stamp: `${spans.length}/${latest}/${size}/${spans.filter((s) => s.has_sidecar).length}`,
  };
}

/** N of `ProfilerStep#N`, or null for the one step of a trace without steps. */
export function stepNumber(name: string): number | null {
  const digits = /#(\d+)$/.exec(name)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** A step's number; the one step of a trace without steps by its name. */
export function stepLabel(name: string): string {
  return String(stepNumber(name) ?? nameOf(name));
}

/** A name of the trace as it is; one that the server made up, in the reader's language. */
export function nameOf(name: string): string {
  return Object.hasOwn(t.traceNames, name) ? t.traceNames[name as keyof typeof t.traceNames] : name;
}

/** The place of a step in a list of steps; null for all of them. */
export function rowOfStep(steps: readonly { name: string }[], step: number | null): number | null {
  return step === null ? null : steps.findIndex((s) => stepNumber(s.name) === step);
}

/** The row of a step among all the trace's steps; the overview may list some. */
export function rowInTrace(
  overview: Pick<Overview, "steps" | "steps_offset">,
  step: number | null,
): number | null {
  const row = rowOfStep(overview.steps, step);
  return row === null || row < 0 ? row : overview.steps_offset + row;
}
