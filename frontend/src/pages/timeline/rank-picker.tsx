// Several ranks below each other: the choice, their clocks, and how well these are aligned.
import { useMemo, useRef, useState } from "preact/hooks";
import type { Distributed, RankClock, Timeline } from "../../api/types";
import { count, duration } from "../../lib/format";
import { Failure, asFailure, fetchView } from "../../api/client";
import { useFurtherRanks, type Loaded, type FurtherRanks } from "../../state/use-result";
import { withRank, type Selected } from "../../state/selection";
import { useUnchanged } from "../../lib/use-unchanged";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { Popover } from "../../widgets/controls/popover";
import type { Lane } from "./lanes";
import "./rank-picker.css";

const texts = t.rankPicker;
/** As many as anybody can compare; each more is asked for with every move. */
const MOST_RANKS = 16;
const LISTED = 100;
const SLOWEST = 3;

/** `3,17` of the URL, without the selected rank. */
export function parseRanks(text: string | null, own: number): number[] {
  const numbers = (text ?? "")
    .split(",")
    .filter((word) => /^\d{1,9}$/.test(word))
    .map(Number);
  return [...new Set(numbers)].filter((rank) => rank !== own).slice(0, MOST_RANKS - 1);
}

/** What a rank's heading says. */
export interface Known {
  rank: number;
  /** Whether its times are on the first rank's clock. */
  aligned: boolean;
  note: string;
  /** Instead of the rank's number and the note. */
  title?: string;
}

export interface Ranks {
  lanes: readonly Lane[];
  known: readonly Known[];
  /** Chosen ranks that cannot be shown, and why. */
  failed: readonly { rank: number; failure: Failure }[];
  loading: boolean;
}

/** The selected rank and those chosen besides. While these are being read the first is there. */
export function useRanks(selected: Selected, base: Timeline): Ranks {
  const own = selected.place.rank;
  const text = state.value.ranks;
  const others = useMemo(() => parseRanks(text, own), [text, own]);
  const { loaded } = useFurtherRanks(selected, others);
  const { run, span } = selected.place;
  const trace = useUnchanged(selected, [run, own, span, selected.stamp]);
  return useMemo(() => ranksOf(trace, base, others, loaded), [trace, base, others, loaded]);
}

function ranksOf(
  selected: Selected,
  base: Timeline,
  others: readonly number[],
  loaded: Loaded<FurtherRanks>,
): Ranks {
  const first: Lane = { rank: selected.place.rank, selected, base, shift: 0 };
  const alone: Ranks = {
    lanes: [first],
    known: [],
    failed: [],
    loading: others.length > 0 && loaded.status === "loading",
  };
  if (loaded.status === "failed")
    return { ...alone, failed: others.map((rank) => ({ rank, failure: loaded.failure })) };
  if (loaded.status !== "ready" || others.length === 0) return alone;
  const { timelines, clock } = loaded.value;
  const clockOf = (rank: number): RankClock | undefined => clock?.rows.find((row) => row.rank === rank);
  const reference = clockOf(first.rank);
  const lanes = [first];
  const known = [knownOf(first.rank, reference, true)];
  const failed: Ranks["failed"][number][] = [];
  others.forEach((rank, i) => {
    const found = timelines[i];
    if (!found || found instanceof Failure) {
      failed.push({ rank, failure: found ?? new Failure("unknown_rank", texts.noRank(rank), null) });
      return;
    }
    const own = clockOf(rank);
    lanes.push({ rank, selected: withRank(selected, rank), base: found, shift: own?.shift_ns ?? 0 });
    known.push(knownOf(rank, own, false));
  });
  return { lanes, known, failed, loading: false };
}

function knownOf(rank: number, clock: RankClock | undefined, first: boolean): Known {
  const residual = clock?.residual_ns ?? null;
  const fit = residual === null ? "" : `± ${duration(residual)}`;
  if (first) return { rank, aligned: true, note: texts.reference };
  if (clock?.shift_ns === null || clock?.shift_ns === undefined)
    return { rank, aligned: false, note: texts.notAligned };
  return { rank, aligned: true, note: texts.aligned(fit, clock.ties) };
}

/** Which ranks are shown, and others to add. */
export function RankPicker({ selected, ranks }: { selected: Selected; ranks: Ranks }) {
  const all = selected.run?.workers ?? [];
  if (all.length < 2) return null;
  const shown =
    1 +
    parseRanks(state.value.ranks, selected.place.rank).filter((rank) =>
      all.some((worker) => worker.rank === rank),
    ).length;
  return (
    <Popover
      class="ranks"
      title={texts.title}
      testid="timeline-ranks"
      attributes={{ "data-value": String(shown) }}
      label={shown > 1 ? texts.shown(count(shown), all.length) : texts.add}
    >
      {() => <Panel selected={selected} ranks={ranks} />}
    </Popover>
  );
}

function Panel({ selected, ranks }: { selected: Selected; ranks: Ranks }) {
  const [text, setText] = useState("");
  const own = selected.place.rank;
  const chosen = parseRanks(state.value.ranks, own);
  const set = (next: readonly number[]): void =>
    go({ ranks: next.slice(0, MOST_RANKS - 1).join(",") || null });
  const toggle = (rank: number): void =>
    set(chosen.includes(rank) ? chosen.filter((one) => one !== rank) : [...chosen, rank]);
  const matching = matchingWorkers(selected, text);
  const { problem, add } = useSlowest(selected, chosen, set);
  const full = chosen.length >= MOST_RANKS - 1;
  return (
    <div class="rankpanel">
      <p>
        <button type="button" onClick={add} disabled={full} data-testid="add-slowest">
          {texts.addSlowest}
        </button>{" "}
        <button type="button" class="quiet" onClick={() => set([])} disabled={chosen.length === 0}>
          {texts.only(own)}
        </button>
      </p>
      <input
        type="text"
        value={text}
        placeholder={texts.findHint}
        aria-label={texts.find}
        data-testid="find-ranks"
        onInput={(e) => setText(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter" && matching[0] && !full) {
            toggle(matching[0].rank);
            setText("");
          }
        }}
      />
      <WorkerList {...{ matching, chosen, full, toggle }} />
      {matching.length === 0 && <p class="muted">{texts.nothing}</p>}
      {full && <p class="muted">{texts.atMost(MOST_RANKS)}</p>}
      {ranks.failed.map(({ rank, failure }) => (
        <p key={rank} class="warn">
          {texts.failed(rank, failure.message)}
        </p>
      ))}
      <p role="status" class="muted">
        {problem}
      </p>
    </div>
  );
}

type Worker = NonNullable<Selected["run"]>["workers"][number];

/** The other ranks that have one of the words in their name, or as their number. */
function matchingWorkers({ run, place }: Selected, text: string): Worker[] {
  const words = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  const workers = [...(run?.workers ?? [])]
    .filter((w) => w.rank !== place.rank)
    .sort((a, b) => a.rank - b.rank);
  return workers.filter(
    (w) =>
      words.length === 0 ||
      words.some((word) =>
        /^\d+$/.test(word) ? String(w.rank) === word : w.worker.toLowerCase().includes(word),
      ),
  );
}

interface WorkerListProps {
  matching: readonly Worker[];
  chosen: readonly number[];
  /** Whether no further rank can be shown. */
  full: boolean;
  toggle: (rank: number) => void;
}

function WorkerList({ matching, chosen, full, toggle }: WorkerListProps) {
  return (
    <>
      <ul>
        {matching.slice(0, LISTED).map((w) => (
          <li key={w.rank}>
            <label>
              <input
                type="checkbox"
                checked={chosen.includes(w.rank)}
                disabled={full && !chosen.includes(w.rank)}
                data-testid="choose-rank"
                data-rank={w.rank}
                onChange={() => toggle(w.rank)}
              />{" "}
              {w.rank} <span class="muted">{w.worker}</span>
            </label>
          </li>
        ))}
      </ul>
      {matching.length > LISTED && <p class="muted">{texts.narrow(count(matching.length - LISTED))}</p>}
    </>
  );
}

/** Adds the slowest ranks, which the server has to read all ranks for; `problem` says how far it is. */
function useSlowest(
  selected: Selected,
  chosen: readonly number[],
  set: (ranks: readonly number[]) => void,
): { problem: string; add: () => void } {
  const own = selected.place.rank;
  const [problem, setProblem] = useState("");
  const looking = useRef<AbortController | null>(null);
  const add = (): void => {
    looking.current?.abort();
    const now = new AbortController();
    looking.current = now;
    setProblem(texts.reading);
    const onProgress = (p: { traces_done?: number | null; traces?: number | null }): void =>
      setProblem(p.traces ? texts.readingOf(count(p.traces_done ?? 0), count(p.traces)) : texts.reading);
    fetchView(
      "distributed",
      { ...selected.place, step: null },
      { limit: 1 },
      { signal: now.signal, onProgress },
    ).then(
      (found) => {
        const slow = slowestOf(found)
          .filter((rank) => rank !== own && !chosen.includes(rank))
          .slice(0, SLOWEST);
        setProblem(slow.length > 0 ? texts.added(slow.join(", ")) : texts.noFurther);
        if (slow.length > 0) set([...chosen, ...slow]);
      },
      (error: unknown) => {
        if (!now.signal.aborted) setProblem(asFailure(error).message);
      },
    );
  };
  return { problem, add };
}

/** Those that the others have waited for longest, then those that compute longest. */
function slowestOf({ rows }: Distributed): number[] {
  const read = rows.filter((row) => row.problem === null);
  return [...read]
    .sort((a, b) => b.caused_ns - a.caused_ns || (b.computation_ns ?? 0) - (a.computation_ns ?? 0))
    .map((row) => row.rank);
}
