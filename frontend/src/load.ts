// Results for components: loading with progress, ready, failed or stopped, and the way on.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Options, Progress, Results, Runs } from "./api";
import { asFailure, fetchRuns, fetchView, type Asking, type Failure } from "./fetch";
import { reloads, shown } from "./host";
import type { Selected } from "./place";

export type Loaded<T> =
  | { status: "loading"; progress: Progress | null }
  | { status: "ready"; value: T }
  | { status: "failed"; failure: Failure }
  | { status: "stopped" };

/** A result on its way, with its two handles. */
export interface Resource<T> {
  loaded: Loaded<T>;
  retry: () => void;
  stop: () => void;
}

/** A result of a trace never changes: the last ones are kept, so that going back is instant. */
const kept = new Map<string, unknown>();
const KEPT = 24;

/** A view's result for the selection; asks again whenever one of them changes. */
export function useView<V extends keyof Results>(
  view: V, selected: Selected, options: Omit<Options[V], "step">, step = selected.place.step,
): Resource<Results[V]> {
  const place = { ...selected.place, step };
  const key = JSON.stringify([view, place, options, selected.stamp]);
  return useLoad(key, (asking) => fetchView(view, place, options, asking));
}

function useLoad<T>(key: string, load: (asking: Asking) => Promise<T>): Resource<T> {
  const [now, setNow] = useState<{ key: string; loaded: Loaded<T> } | null>(null);
  const [attempt, setAttempt] = useState(0);
  const controller = useRef<AbortController>(undefined);
  useEffect(() => {
    if (kept.has(key)) return undefined;
    const own = new AbortController();
    controller.current = own;
    const say = (loaded: Loaded<T>): void => {
      if (!own.signal.aborted) setNow({ key, loaded });
    };
    say({ status: "loading", progress: null });
    load({ signal: own.signal, onProgress: (progress) => say({ status: "loading", progress }) }).then(
      (value) => {
        keep(key, value);
        say({ status: "ready", value });
      },
      (error: unknown) => {
        if (!own.signal.aborted) say({ status: "failed", failure: asFailure(error) });
      },
    );
    return () => own.abort();
  }, [key, attempt]);
  const stop = (): void => {
    controller.current?.abort();
    setNow({ key, loaded: { status: "stopped" } });
  };
  return { loaded: current(key, now), retry: () => setAttempt(attempt + 1), stop };
}

function current<T>(key: string, now: { key: string; loaded: Loaded<T> } | null): Loaded<T> {
  if (kept.has(key)) return { status: "ready", value: kept.get(key) as T };
  return now?.key === key ? now.loaded : { status: "loading", progress: null };
}

function keep(key: string, value: unknown): void {
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
}

/** How often the page looks again while the logdir is being scanned, and while it is empty. */
const SCANNING_MS = 1000;
const EMPTY_MS = 5000;

/** The logdir's runs. They stay on the page while they are asked for again. */
export function useRuns(): Resource<Runs> {
  const [loaded, setLoaded] = useState<Loaded<Runs>>({ status: "loading", progress: null });
  const [attempt, setAttempt] = useState(0);
  const reload = reloads.value;
  useEffect(() => {
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
  return { loaded, retry, stop: () => undefined };
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
