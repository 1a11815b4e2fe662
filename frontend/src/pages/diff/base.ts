// The baseline of a comparison: what the selected trace is compared with.
import type { Run, Runs } from "../../api/types";
import { select, type Selected } from "../../state/selection";
import type { State } from "../../state/url";

type Choice = Pick<State, "run" | "rank" | "span" | "step" | "base" | "baserank" | "basespan" | "basestep">;

/** Why a recording is the base: the URL names it, it is the span or the run before (or behind) what is
 * selected, or another rank of the run. */
export interface BaseChoice {
  kind: "chosen" | "span" | "earlier" | "later" | "rank";
  selected: Selected;
  /** Of another run: whether it has the same parent folder, rank and worker. */
  same: { group: boolean; rank: boolean; worker: boolean };
}

const ALL = { group: true, rank: true, worker: true };

/** What the selection is compared with, unless the URL says it: the span before it, the run of the same
 * rank, group and worker before it, another rank; null if there is nothing else. */
export function baseOf(runs: Runs, state: Choice, selected: Selected): BaseChoice | null {
  const { place } = selected;
  const isChosen =
    state.base !== null || state.baserank !== null || state.basespan !== null || state.basestep !== null;
  const of = (
    kind: BaseChoice["kind"],
    run: string,
    rank: number | null,
    span: number | null,
    same = ALL,
  ): BaseChoice | null => {
    const found = runs.runs.find((r) => r.run === run);
    const rankOf = rank ?? (found?.workers.some((w) => w.rank === place.rank) ? place.rank : null);
    const base = select(runs, { ...state, run, rank: rankOf, span, step: state.basestep });
    return base && { kind, selected: base, same };
  };
  if (isChosen) {
    const sameTrace = state.base === null && state.baserank === null;
    const span = state.basespan ?? (sameTrace ? place.span : null);
    return of("chosen", state.base ?? place.run, state.baserank, span);
  }
  const before = (selected.worker?.spans ?? []).map((s) => s.span).filter((s) => s < place.span);
  if (before.length) return of("span", place.run, place.rank, Math.max(...before));
  const other = nearest(runs, selected);
  if (other) return of(other.isEarlier ? "earlier" : "later", other.run.run, null, null, other.same);
  const worker = selected.run?.workers.find((w) => w.rank !== place.rank);
  return worker ? of("rank", place.run, worker.rank, null) : null;
}

interface Candidate {
  run: Run;
  same: BaseChoice["same"];
  isEarlier: boolean;
  /** In order of weight: the smallest is the base. */
  order: readonly number[];
}

/** The run with the same rank, group and worker that was recorded last before the selected one, else the
 * next one after it; of the same time the first by name. */
function nearest({ runs }: Runs, { place, span, worker }: Selected): Candidate | undefined {
  const own = span?.modified_ns ?? 0;
  const candidate = (run: Run): Candidate => {
    const ranked = run.workers.filter((w) => w.rank === place.rank);
    const spans = (ranked.length ? ranked : run.workers).flatMap((w) => w.spans);
    const at = Math.max(...spans.map((s) => s.modified_ns ?? 0));
    const same = {
      group: folderOf(run.run) === folderOf(place.run),
      rank: ranked.length > 0,
      worker: run.workers.some((w) => w.worker === worker?.worker),
    };
    const isEarlier = at <= own;
    const flags = [same.rank, same.group, isEarlier, same.worker];
    return { run, same, isEarlier, order: [...flags.map((flag) => (flag ? 0 : 1)), Math.abs(at - own)] };
  };
  const others = runs.filter((run) => run.run !== place.run).map(candidate);
  others.sort((a, b) => a.order.map((x, i) => x - (b.order[i] ?? 0)).find((x) => x !== 0) ?? 0);
  return others[0];
}

const folderOf = (run: string): string => run.slice(0, Math.max(0, run.lastIndexOf("/")));
