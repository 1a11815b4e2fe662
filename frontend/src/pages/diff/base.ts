// The baseline of a comparison: what the selected trace is compared with.
import type { Run, Runs } from "../../api/types";
import { select, type Selected } from "../../state/selection";
import type { State } from "../../state/url";

type Choice = Pick<State, "run" | "rank" | "span" | "step" | "base" | "baserank" | "basespan" | "basestep">;

/** What the selection is compared with, unless the URL says it: the span before it, the same rank of
 * the run before it, another rank; null if there is nothing else. */
export function baseOf(runs: Runs, state: Choice, selected: Selected): Selected | null {
  const { place } = selected;
  const isChosen =
    state.base !== null || state.baserank !== null || state.basespan !== null || state.basestep !== null;
  const of = (run: string, rank: number | null, span: number | null): Selected | null => {
    const found = runs.runs.find((r) => r.run === run);
    const rankOf = rank ?? (found?.workers.some((w) => w.rank === place.rank) ? place.rank : null);
    return select(runs, { ...state, run, rank: rankOf, span, step: state.basestep });
  };
  if (isChosen) {
    const sameTrace = state.base === null && state.baserank === null;
    return of(state.base ?? place.run, state.baserank, state.basespan ?? (sameTrace ? place.span : null));
  }
  const before = (selected.worker?.spans ?? []).map((s) => s.span).filter((s) => s < place.span);
  if (before.length) return of(place.run, place.rank, Math.max(...before));
  const run = runBefore(runs, selected);
  if (run) return of(run.run, null, null);
  const worker = selected.run?.workers.find((w) => w.rank !== place.rank);
  return worker ? of(place.run, worker.rank, null) : null;
}

/** The run recorded last before the selected one, else the next one after it; those with the same rank
 * first, and of the same time the first by name. */
function runBefore({ runs }: Runs, { place, span }: Selected): Run | undefined {
  const own = span?.modified_ns ?? 0;
  const far = (run: Run): readonly number[] => {
    const same = run.workers.filter((w) => w.rank === place.rank);
    const spans = (same.length ? same : run.workers).flatMap((w) => w.spans);
    const at = Math.max(...spans.map((s) => s.modified_ns ?? 0));
    return [same.length ? 0 : 1, at <= own ? 0 : 1, Math.abs(at - own)];
  };
  const others = runs.flatMap((run) => (run.run === place.run ? [] : [{ run, far: far(run) }]));
  others.sort((a, b) => a.far.map((x, i) => x - (b.far[i] ?? 0)).find((x) => x !== 0) ?? 0);
  return others[0]?.run;
}
