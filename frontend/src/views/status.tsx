// What stands where a result is not: progress, an error, nothing to show.
import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import type { Finding, Progress } from "../api";
import { bytes, count } from "../base/format";
import { asFailure, type Failure } from "../fetch";
import { useSeconds, type Resource } from "../load";
import { go } from "../state";
import { Mark, ranked } from "./doubts";

interface ShowProps<T> {
  resource: Resource<T>;
  children: (value: T) => ComponentChildren;
}

/** The result, or what stands for it. */
export function Show<T>({ resource: { loaded, retry, cancel }, children }: ShowProps<T>) {
  switch (loaded.status) {
    case "ready": return <>{children(loaded.value)}</>;
    case "loading": return <Reading progress={loaded.progress} cancel={cancel} />;
    case "failed": return <Problem failure={loaded.failure} retry={retry} />;
    case "cancelled": return (
      <section class="state" role="status" data-testid="cancelled">
        <h2>Reading was cancelled</h2>
        <p>The trace was not read to its end, so there is nothing to show of it.</p>
        <button type="button" onClick={retry} data-testid="retry">Read it again</button>
      </section>
    );
  }
}

const PHASES: Readonly<Record<Progress["phase"], string>> = {
  waiting: "Waiting for its turn, or for another server that reads it",
  reading: "Reading the trace",
  inferring: "Putting the timeline together",
  storing: "Storing the result",
};

function Reading({ progress, cancel }: { progress: Progress | null; cancel: () => void }) {
  const seconds = useSeconds();
  if (!progress) return <p class="state late muted" role="status" data-testid="loading">Loading… {seconds > 2 && `${seconds} s`}</p>;
  const part = progress.bytes_total > 0 ? Math.min(1, progress.bytes_done / progress.bytes_total) : null;
  // Of several traces, bytes are of those that are not done.
  const share = progress.traces > 1 ? (progress.traces_done + (part ?? 0) * (progress.traces - progress.traces_done)) / progress.traces : part;
  return (
    <section class="state" role="status" data-testid="progress" data-phase={progress.phase}>
      <h2>{PHASES[progress.phase]}</h2>
      <progress {...(share !== null && { value: share })} max={1} aria-label="Bytes read" />
      <p class="muted figures">
        {progress.traces > 1 && <span data-testid="traces" data-value={progress.traces_done}>{count(progress.traces_done)} of {count(progress.traces)} ranks</span>}
        {progress.bytes_total > 0 && <span>{bytes(progress.bytes_done)} of {bytes(progress.bytes_total)}</span>}
        {progress.events > 0 && <span>{count(progress.events)} events</span>}
        <span>{progress.seconds_left === null ? `${seconds} s so far` : `about ${count(Math.max(1, Math.ceil(progress.seconds_left)))} s left`}</span>
      </p>
      <button type="button" onClick={cancel} data-testid="cancel">Cancel</button>
    </section>
  );
}

/** What went wrong and what to do, never an endless wait. */
export function Problem({ failure, retry }: { failure: Failure; retry: () => void }) {
  return (
    <section class="state" role="alert" data-testid="error" data-code={failure.code} data-status={failure.status ?? ""}>
      <h2>{failure.message}</h2>
      {failure.hint && <p>{failure.hint}</p>}
      <p class="muted">{failure.code}{failure.status !== null && ` (HTTP ${failure.status})`}</p>
      <button type="button" onClick={retry} data-testid="retry">Retry</button>
      {failure.status === 404 && <> <button type="button" onClick={() => go(DEFAULT)} data-testid="default-trace">Show the first run</button></>}
    </section>
  );
}

/** The URL may name what is no longer there. */
const DEFAULT = { run: null, rank: null, span: null, step: null };

/** Keeps a mistake in one page from taking the frame down with it. */
export function Guard({ children }: { children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary();
  return error === undefined ? <>{children}</> : <Problem failure={asFailure(error)} retry={reset} />;
}

/** The quality findings with their hints. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  if (findings.length === 0) return <p class="muted">None: nothing had to be repaired or left out.</p>;
  return (
    <ul class="findings" data-testid="findings">
      {ranked(findings).map((f, i) => (
        <li key={i} data-code={f.code} data-severity={f.severity}>
          <div><Mark severity={f.severity} /> {f.message}</div>
          {f.hint && <div class="hint">{f.hint}</div>}
          <div class="muted small">{f.code}</div>
        </li>
      ))}
    </ul>
  );
}
