// The baseline of a comparison: what the selected trace is compared with.
import type { Runs } from "../../api/types";
import { select, type Selected } from "../../state/selection";
import type { State } from "../../state/url";

type Choice = Pick<State, "run" | "rank" | "span" | "step" | "base" | "baserank" | "basespan" | "basestep">;

/** What the selection is compared with, unless the URL says it: the span before it, the same rank of
 * another run, another rank; null if there is nothing else. */
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
  const run = runs.runs.find((r) => r.run !== place.run);
  if (run) return of(run.run, null, null);
  const worker = selected.run?.workers.find((w) => w.rank !== place.rank);
  return worker ? of(place.run, worker.rank, null) : null;
}
