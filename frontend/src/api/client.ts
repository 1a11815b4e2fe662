// The one place of fetch. Every request ends: with a result, or with a Failure that has words
// for the user.
import type {
  ApiError,
  AskedRecording,
  Canceled,
  EventRecord,
  Extras,
  Options,
  Progress,
  Results,
  RunningJobs,
  Runs,
  SqlResult,
} from "./types";
import { BY_PHASE, WINDOWED } from "./windowed";
import { phaseOf, type Phase } from "./phases";
import { whenShown } from "../lib/tensorboard-host";
import { PACKED, unpack } from "./binary";
import { language, t } from "../i18n";

/** How long the server may hold a request before it answers with the progress. */
const WAIT_MS = 300;
/** No answer at all for this long is a failure, not patience. */
const TIMEOUT_MS = 60_000;

/** What went wrong, what to do about it, and the HTTP status (null: no answer came). */
export class Failure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string | null,
    readonly status: number | null = null,
  ) {
    super(message);
  }
}

/** Any error as one with words; what is not a Failure is a mistake of ours. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  console.error(error);
  return new Failure("page_error", t.client.mistake, error instanceof Error ? error.message : String(error));
}

/** The trace that a result is about. */
export interface Place {
  run: string;
  rank: number;
  span: number;
  step: number | null;
  /** Everything or a phase of serving, of views whose figures are of a window; by default the steady
   * part. In a phase the steps are its iterations. */
  window?: "all" | Phase | undefined;
}

export interface Asking {
  signal: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** Of what others go before: whether that is over. */
  hurry?: () => boolean;
}

/** All runs of the logdir. */
export function fetchRuns(asking: Asking): Promise<Runs> {
  return ask<Runs>("runs", {}, asking);
}

/** A view's result. Reading a trace takes a while: `onProgress` hears of it meanwhile. */
export function fetchView<V extends keyof Results>(
  view: V,
  place: Place,
  options: Omit<Options[V], "step" | "window">,
  asking: Asking,
): Promise<Results[V]> {
  const { window, ...trace } = place;
  let asked: Partial<Place> = WINDOWED.includes(view) ? { ...trace, window } : trace;
  // Of other views neither the phase is known, nor a step of it.
  if (phaseOf(window) && !BY_PHASE.includes(view)) asked = { ...trace, step: null };
  return ask<Results[V]>(view, { ...asked, ...options, wait_ms: WAIT_MS }, asking);
}

/** All recordings of the logdir, those that are ready. */
export function fetchHistory(options: Options["history"], asking: Asking): Promise<Results["history"]> {
  return ask<Results["history"]>("history", { ...options, wait_ms: WAIT_MS }, asking);
}

/** One event of the trace: a row of one of its tables. */
export function fetchEvent(place: Place, table: string, row: string, asking: Asking): Promise<EventRecord> {
  const { run, rank, span } = place;
  return ask<EventRecord>("event", { run, rank, span, table, row, wait_ms: WAIT_MS }, asking);
}

/** What this server can do besides. */
export function fetchExtras(asking: Asking): Promise<Extras> {
  return ask<Extras>("extras", {}, asking);
}

/** The rows of a query of one trace. */
export function fetchSql({ run, rank, span }: Place, query: string, asking: Asking): Promise<SqlResult> {
  return ask<SqlResult>("sql", { run, rank, span, query, wait_ms: WAIT_MS }, asking);
}

/** A format, and a part of the recording; null: to its end. */
export interface Exporting {
  format: "chrome" | "perfetto" | "stacks" | "parquet" | "csv";
  start_ns: number | null;
  end_ns: number | null;
}

/** The query of the `export` route. */
export function exportQuery(
  { run, rank, span }: Place,
  asked: Exporting,
): Record<string, string | number | null> {
  return { run, rank, span, ...asked };
}

/** An export's file, for another page. */
export async function fetchExport(place: Place, asked: Exporting): Promise<ArrayBuffer> {
  const { signal } = new AbortController();
  const response = await request(address("export", exportQuery(place, asked)), signal);
  if (response.status !== 200) throw problem(response.status, await content(response, signal));
  try {
    return await response.arrayBuffer();
  } catch (error) {
    throw noAnswer(error, signal);
  }
}

/** A file of the server: its name and its text. */
export interface Script {
  name: string;
  text: string;
}

/** The script that runs the call of a row of the trace's operators again. */
export async function fetchOperatorScript({ run, rank, span }: Place, row: number): Promise<Script> {
  const { signal } = new AbortController();
  const response = await request(address("operator_script", { run, rank, span, row }), signal);
  if (response.status !== 200) throw problem(response.status, await content(response, signal));
  try {
    return { name: nameIn(response), text: await response.text() };
  } catch (error) {
    throw noAnswer(error, signal);
  }
}

/** A name of Python's own, such as operator.py, would hide that module from the script. */
function nameIn(response: Response): string {
  const [, name] = /filename="?([\w.]+)/.exec(response.headers.get("content-disposition") ?? "") ?? [];
  return name ?? "taken_operator.py";
}

/** Gives up reading a trace, for everybody who waits for it; whether it was being read. */
export async function cancelReading({ run, rank, span }: Place): Promise<boolean> {
  const { signal } = new AbortController();
  const response = await request(address("cancel", { run, rank, span }), signal, "POST");
  const body = await content(response, signal);
  if (response.status !== 200) throw problem(response.status, body);
  return (body as Canceled).canceled;
}

/** The running jobs that can be asked for a recording, and the progress of a request. */
export function fetchRunningJobs(
  of: { job: string; id: string } | null,
  asking: Asking,
): Promise<RunningJobs> {
  return ask<RunningJobs>("record/jobs", { ...of }, asking);
}

/** A request for a recording; null leaves a part of it as the job was configured. */
export interface RecordingWish {
  job: string;
  steps: number;
  warmup: number;
  /** Such as `0,3-5`; null: all. */
  ranks: string | null;
  shapes: boolean | null;
  stacks: boolean | null;
  memory: boolean | null;
}

/** Asks a running job for a recording. */
export const askRecording = (wish: RecordingWish): Promise<AskedRecording> => send("record", wish);

/** Withdraws a request. */
export const cancelRecording = (of: { job: string; id: string }): Promise<Canceled> =>
  send("record/cancel", of);

async function send<T>(route: string, body: object): Promise<T> {
  const { signal } = new AbortController();
  const response = await request(address(route, {}), signal, "POST", JSON.stringify(body));
  const result = await content(response, signal);
  if (response.status !== 200) throw problem(response.status, result);
  return result as T;
}

/** The address of a route, relative to the page: TensorBoard may live below a path prefix. */
export function address(
  route: string,
  query: Record<string, string | number | boolean | null | undefined>,
): string {
  const url = new URL(route, document.baseURI);
  url.hash = "";
  url.search = "";
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) url.searchParams.set(key, String(value));
  }
  return url.href;
}

/** How many requests are on their way that somebody waits for. */
let urgent = 0;
/** As long as nothing is asked for, a page is done with what it shows first. */
const QUIET_MS = 150;
const PATIENCE_MS = 5000;

/** Resolves when nobody waits for anything else, when `hurry` says so, or after 5 s. */
export async function whenQuiet(
  hurry: () => boolean = () => false,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  let since = performance.now();
  while (!hurry() && performance.now() < until && performance.now() - since < QUIET_MS) {
    await pause(QUIET_MS / 5, signal);
    if (urgent > 0) since = performance.now();
  }
}

async function ask<T>(
  route: string,
  query: Record<string, string | number | boolean | null | undefined>,
  asking: Asking,
): Promise<T> {
  if (asking.hurry) {
    await whenQuiet(asking.hurry, asking.signal);
    return answer(route, query, asking);
  }
  urgent += 1;
  try {
    return await answer(route, query, asking);
  } finally {
    urgent -= 1;
  }
}

async function answer<T>(
  route: string,
  query: Record<string, string | number | boolean | null | undefined>,
  { signal, onProgress }: Asking,
): Promise<T> {
  const url = address(route, query);
  for (;;) {
    await whenShown();
    signal.throwIfAborted();
    const since = performance.now();
    const response = await request(url, signal);
    const body = await content(response, signal);
    if (response.status === 200) return body as T;
    if (response.status !== 202) throw problem(response.status, body);
    onProgress?.(body as Progress);
    // The server has waited already; this is for one that answers at once.
    await pause(WAIT_MS - (performance.now() - since), signal);
  }
}

async function request(
  url: string,
  signal: AbortSignal,
  method = "GET",
  json: string | null = null,
): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      body: json,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      headers: {
        Accept: `application/json, ${PACKED}`,
        "Accept-Language": language,
        ...(json !== null && { "Content-Type": "application/json" }),
      },
      credentials: "same-origin",
    });
  } catch (error) {
    throw noAnswer(error, signal);
  }
}

async function content(response: Response, signal: AbortSignal): Promise<unknown> {
  let body: ArrayBuffer;
  try {
    body = await response.arrayBuffer();
  } catch (error) {
    throw noAnswer(error, signal);
  }
  try {
    if (response.headers.get("Content-Type") === PACKED) return unpack(body);
    return JSON.parse(new TextDecoder().decode(body)) as unknown;
  } catch {
    throw problem(response.status, null);
  }
}

function noAnswer(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return new Failure("timeout", t.client.noAnswer(TIMEOUT_MS / 1000), t.client.noAnswerHint);
  }
  return new Failure("network", t.client.unreachable, t.client.unreachableHint);
}

function problem(status: number, body: unknown): Failure {
  const error = (body as Partial<ApiError> | null)?.error;
  if (error && typeof error.message === "string") {
    return new Failure(error.code, error.message, error.hint, status);
  }
  return new Failure(`http_${status}`, t.client.unexplained(status), t.client.unexplainedHint, status);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
