// A second recording above the selected one: the baseline of the comparison, on the clock of the
// selected one, so that one of its steps begins with one of the other's.
import { useMemo } from "preact/hooks";
import type { Runs, Step, Timeline } from "../../api/types";
import { useUnchanged } from "../../lib/use-unchanged";
import { rowOfStep, select, stepLabel, type Selected } from "../../state/selection";
import { state } from "../../state/url";
import { useView, type Loaded } from "../../state/use-result";
import { t } from "../../i18n";
import { BASE, type Lane } from "./lanes";
import type { Known, Ranks } from "./rank-picker";

const texts = t.timelineComparison;

/** What the URL names as the baseline, if the timeline shows it. */
function baseOf(runs: Runs): Selected | null {
  const { compare, base, baserank, basespan, basestep } = state.value;
  if (compare === null || base === null) return null;
  return select(runs, { run: base, rank: baserank, span: basespan, step: basestep });
}

/** The ranks with the baseline above them, once it is there. */
export function useComparison(selected: Selected, runs: Runs, ranks: Ranks): Ranks {
  const named = baseOf(runs);
  const chosen = useUnchanged(named, [JSON.stringify(named?.place), named?.stamp]);
  const base = chosen ?? selected;
  const timeline = useView("timeline", base, chosen && { tracks: "", width: 1 }, null).loaded;
  const now = ready(useView("overview", selected, chosen && { brief: true }, null).loaded);
  const then = ready(useView("overview", base, chosen && { brief: true }, null).loaded);
  const { step, rank } = selected.place;
  const name = nameOf(selected);
  return useMemo(() => {
    if (!chosen) return ranks;
    if (timeline.status === "failed")
      return { ...ranks, failed: [...ranks.failed, { rank: BASE, failure: timeline.failure }] };
    if (timeline.status !== "ready" || !now || !then) return { ...ranks, loading: true };
    const steps = [stepOf(now.steps, step), stepOf(then.steps, chosen.place.step)] as const;
    return withBase(ranks, { rank, name }, { chosen, base: timeline.value, steps });
  }, [ranks, chosen, step, rank, name, timeline, now, then]);
}

interface Baseline {
  chosen: Selected;
  base: Timeline;
  /** The selected recording's, and its own. */
  steps: readonly [Step | null, Step | null];
}

function withBase(
  ranks: Ranks,
  { rank, name }: { rank: number; name: string },
  { chosen, base, steps }: Baseline,
): Ranks {
  const lane: Lane = { rank: BASE, selected: chosen, base, shift: shiftOf(...steps) };
  const [first, ...others] = ranks.known;
  const known: Known = first ?? { rank, aligned: true, note: "" };
  const above: Known = {
    rank: BASE,
    aligned: steps[0] !== null && steps[1] !== null,
    note: "",
    title: texts.base(nameOf(chosen), noteOf(...steps)),
  };
  return {
    ...ranks,
    lanes: [...ranks.lanes, lane],
    known: [{ ...known, title: texts.selected(name, known.note) }, ...others, above],
  };
}

const ready = <T>(loaded: Loaded<T>): T | null => (loaded.status === "ready" ? loaded.value : null);

const nameOf = ({ place: { run, rank, span } }: Selected): string => texts.recording(run, rank, span);

/** The chosen step, else the first one that was recorded as a whole. */
export function stepOf<Row extends Pick<Step, "name" | "incomplete">>(
  steps: readonly Row[],
  chosen: number | null,
): Row | null {
  const row = rowOfStep(steps, chosen);
  return (row === null ? steps.find((one) => !one.incomplete) : steps[row]) ?? steps[0] ?? null;
}

/** To be added to the baseline's times; 0 without steps: both from their starts. */
export function shiftOf(now: Pick<Step, "start_ns"> | null, then: Pick<Step, "start_ns"> | null): number {
  return now && then ? now.start_ns - then.start_ns : 0;
}

const noteOf = (now: Step | null, then: Step | null): string =>
  now && then ? texts.aligned(stepLabel(then.name), stepLabel(now.name)) : texts.fromStart;
