// Results for components: loading with progress, ready, failed or canceled, and the way on.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { EventRecord, Options, Progress, Results, Runs, SqlResult } from "../api/types";
import {
  asFailure,
  cancelReading,
  fetchEvent,
  fetchHistory,
  fetchRuns,
  fetchSql,
  fetchView,
  type Asking,
  type Failure,
  type Place,
} from "../api/client";
import { reloads, shown } from "../lib/tensorboard-host";
import { useLatestCallback } from "../lib/use-latest-callback";
import { withRank, type Selected } from "./selection";

export type Loaded<T> =
  | { status: "loading"; progress: Progress | null }
  | { status: "ready"; value: T }
  | { status: "failed"; failure: Failure }
  | { status: "canceled" };

/** A result on its way, with its two handles. */
export interface Resource<T> {
  loaded: Loaded<T>;
  retry: () => void;
  /** Gives up reading its trace, for all that the page asks of it. */
  cancel: () => void;
}

/** A result of a trace never changes: the last ones are kept, so that going back is instant. */
const results = new Map<string, { status: "ready"; value: unknown }>();
const MOST_RESULTS = 24;

/** A view's result for the selection; asks again whenever one of them changes. Without options
 * nothing is asked, and it stays on its way. With `patient` others go before. */
export function useView<V extends keyof Results>(
  view: V,
  selected: Selected,
  options: Omit<Options[V], "step" | "window"> | null,
  step = selected.place.step,
  patient = false,
): Resource<Results[V]> {
  const place = { ...selected.place, step };
  const key = options && JSON.stringify([view, place, options, selected.stamp]);
  const waits = useRef(patient);
  waits.current = patient;
  const hurry = (): boolean => !waits.current;
  return useLoad(key, place, (asking) =>
    fetchView(view, place, options as NonNullable<typeof options>, patient ? { ...asking, hurry } : asking),
  );
}

type Comparing = "diff" | "flame_diff";

function useCompared<V extends Comparing>(
  view: V,
  selected: Selected,
  base: Selected,
  options: Omit<Options[V], "step" | "base_step">,
): Resource<Results[V]> {
  const { run, rank, span, step } = base.place;
  const asked = { ...options, base_run: run, base_rank: rank, base_span: span, base_step: step };
  const key = JSON.stringify([view, selected.place, asked, selected.stamp, base.stamp]);
  return useLoad(key, selected.place, (asking) =>
    fetchView(view, selected.place, asked as unknown as Omit<Options[V], "step" | "window">, asking),
  );
}

/** The difference of two traces. */
export const useDiff = (
  selected: Selected,
  base: Selected,
  options: Omit<Options["diff"], "step" | "base_step">,
): Resource<Results["diff"]> => useCompared("diff", selected, base, options);

/** The call trees of two traces as one. */
export const useFlameDiff = (
  selected: Selected,
  base: Selected,
  options: Omit<Options["flame_diff"], "step" | "base_step">,
): Resource<Results["flame_diff"]> => useCompared("flame_diff", selected, base, options);

/** Further ranks beside the selected one: of each its timeline without a rectangle (or why there is
 * none), and the clocks of all of them. */
export interface FurtherRanks {
  timelines: readonly (Results["timeline"] | Failure)[];
  clock: Results["clock"] | null;
}

export function useFurtherRanks(selected: Selected, ranks: readonly number[]): Resource<FurtherRanks> {
  const { run, rank, span } = selected.place;
  const key = JSON.stringify([
    "beside",
    run,
    rank,
    span,
    ranks.map((one) => [one, withRank(selected, one).stamp]),
    selected.stamp,
  ]);
  return useLoad(key, selected.place, async (asking) => {
    const only = [rank, ...ranks].join(",");
    const of = (one: number): Promise<Results["timeline"] | Failure> =>
      fetchView("timeline", { run, rank: one, span, step: null }, { tracks: "", width: 1 }, asking).catch(
        (error: unknown) => {
          if (asking.signal.aborted) throw error;
          return asFailure(error);
        },
      );
    const clock =
      ranks.length > 0
        ? fetchView("clock", { run, rank, span, step: null }, { only, to: rank }, asking)
        : null;
    return { timelines: await Promise.all(ranks.map(of)), clock: await clock };
  });
}

/** A result, or the last one while the next is on its way: it is stale then. */
export interface Latest<T> extends Resource<T> {
  isStale: boolean;
}

/** While another part of the same thing is asked for, the last one stays: a chart that vanishes
 * cannot be zoomed. */
export function useLatest<T>(resource: Resource<T>, of: string): Latest<T> {
  const { loaded } = resource;
  const last = useRef<{ of: string; loaded: Loaded<T> } | null>(null);
  if (loaded.status === "ready") last.current = { of, loaded };
  const isStale = loaded.status === "loading" && last.current?.of === of;
  return { ...resource, loaded: isStale && last.current ? last.current.loaded : loaded, isStale };
}

/** The trace of a place, whatever its step. */
export const traceOf = ({ run, rank, span }: Place): string => JSON.stringify([run, rank, span]);

/** The record of an event, named as in the URL: `table/row`. */
export function useEventRecord(selected: Selected, name: string): Resource<EventRecord> {
  const { run, rank, span } = selected.place;
  const [table = "", row = ""] = name.split("/");
  const key = JSON.stringify(["event", run, rank, span, name, selected.stamp]);
  return useLoad(key, selected.place, (asking) => fetchEvent(selected.place, table, row, asking));
}

/** The rows of a query in SQL. */
export function useSql(selected: Selected, query: string): Resource<SqlResult> {
  const { run, rank, span } = selected.place;
  const key = JSON.stringify(["sql", run, rank, span, query, selected.stamp]);
  return useLoad(key, selected.place, (asking) => fetchSql(selected.place, query, asking));
}

/** Traces that somebody canceled: nothing is asked of them, which would have them read again. */
const canceled = signal<ReadonlySet<string>>(new Set());

/** What is being asked for now, by the trace it is asked of. */
const asking = new Map<AbortController, string>();

function setCanceled(trace: string, now: boolean): void {
  const traces = new Set(canceled.value);
  if (now) traces.add(trace);
  else traces.delete(trace);
  canceled.value = traces;
}

function useLoad<T>(key: string | null, place: Place, load: (asking: Asking) => Promise<T>): Resource<T> {
  const [now, setNow] = useState<{ key: string; loaded: Loaded<T> } | null>(null);
  const [attempt, setAttempt] = useState(0);
  const trace = traceOf(place);
  const isCanceled = canceled.value.has(trace);
  const ask = useLatestCallback(load);
  // A layout effect: others wait for the next frame, and so would the server.
  useLayoutEffect(() => {
    if (key === null || isCanceled) return undefined;
    if (results.has(key)) {
      // For as long as it is shown, whatever is kept in its place meanwhile.
      setNow({ key, loaded: results.get(key) as Loaded<T> });
      return undefined;
    }
    const own = new AbortController();
    asking.set(own, trace);
    const say = (loaded: Loaded<T>): void => {
      if (!own.signal.aborted) setNow({ key, loaded });
    };
    say({ status: "loading", progress: null });
    ask({ signal: own.signal, onProgress: (progress) => say({ status: "loading", progress }) })
      .then(
        (value) => {
          const ready = { status: "ready" as const, value };
          keep(key, ready);
          say(ready);
        },
        (error: unknown) => {
          if (own.signal.aborted) return;
          const failure = asFailure(error);
          if (failure.code === "canceled") setCanceled(trace, true);
          else say({ status: "failed", failure });
        },
      )
      .finally(() => asking.delete(own));
    return () => own.abort();
  }, [key, trace, attempt, isCanceled]);
  const cancel = (): void => {
    for (const [controller, of] of asking) if (of === trace) controller.abort();
    setCanceled(trace, true);
    // If it cannot be canceled, the page asks again and says why.
    cancelReading(place).catch(() => setCanceled(trace, false));
  };
  const retry = (): void => {
    setCanceled(trace, false);
    setAttempt(attempt + 1);
  };
  return { loaded: current(key, now, isCanceled), retry, cancel };
}

const CANCELED = { status: "canceled" } as const;
const LOADING = { status: "loading", progress: null } as const;

/** The same object for as long as nothing changes: effects may depend on it. */
function current<T>(
  key: string | null,
  now: { key: string; loaded: Loaded<T> } | null,
  isCanceled: boolean,
): Loaded<T> {
  if (key !== null && results.has(key)) return results.get(key) as Loaded<T>;
  if (isCanceled) return CANCELED;
  return now?.key === key ? now.loaded : LOADING;
}

function keep(key: string, ready: { status: "ready"; value: unknown }): void {
  results.set(key, ready);
  const [oldest] = results.keys();
  if (results.size > MOST_RESULTS && oldest !== undefined) results.delete(oldest);
}

/** How often the page looks again while the logdir is being scanned, and while it is empty. */
const SCANNING_MS = 1000;
const EMPTY_MS = 5000;

/** The logdir's runs. They stay on the page while they are asked for again. */
export function useRuns(): Resource<Runs> {
  const [loaded, setLoaded] = useState<Loaded<Runs>>({ status: "loading", progress: null });
  const [attempt, setAttempt] = useState(0);
  const reload = reloads.value;
  useLayoutEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const look = async (): Promise<void> => {
      try {
        const runs = await fetchRuns({ signal: controller.signal });
        setLoaded({ status: "ready", value: runs });
        const again = runs.scanning ? SCANNING_MS : runs.runs.length === 0 ? EMPTY_MS : null;
        if (again !== null) timer = setTimeout(() => void look(), again);
      } catch (error) {
        if (!controller.signal.aborted) setLoaded({ status: "failed", failure: asFailure(error) });
      }
    };
    void look();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [attempt, reload]);
  const retry = (): void => {
    setLoaded({ status: "loading", progress: null });
    setAttempt(attempt + 1);
  };
  return { loaded, retry, cancel: () => undefined };
}

/** How often it is asked again for recordings that are still to be read. */
const READING_MS = 500;

/** All recordings of the logdir; those that are ready come first, the others as they are read. */
export function useHistory(options: Options["history"]): Resource<Results["history"]> {
  const [loaded, setLoaded] = useState<Loaded<Results["history"]>>(LOADING);
  const [attempt, setAttempt] = useState(0);
  const reload = reloads.value;
  const key = JSON.stringify(options);
  const ask = useLatestCallback((signal: AbortSignal) => fetchHistory(options, { signal }));
  useLayoutEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const look = async (): Promise<void> => {
      try {
        const value = await ask(controller.signal);
        setLoaded({ status: "ready", value });
        if (value.waiting > 0) timer = setTimeout(() => void look(), READING_MS);
      } catch (error) {
        if (!controller.signal.aborted) setLoaded({ status: "failed", failure: asFailure(error) });
      }
    };
    setLoaded(LOADING);
    void look();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [key, attempt, reload]);
  return { loaded, retry: () => setAttempt(attempt + 1), cancel: () => undefined };
}

/** Seconds since the component appeared, while the page is shown. */
export function useSeconds(): number {
  const [seconds, setSeconds] = useState(0);
  const visible = shown.value;
  useEffect(() => {
    if (!visible) return undefined;
    const timer = setInterval(() => setSeconds((s) => s + 1), 1000);
    return () => clearInterval(timer);
  }, [visible]);
  return seconds;
}
