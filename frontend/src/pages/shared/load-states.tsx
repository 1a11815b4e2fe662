// Placeholders for a result that is not there: progress, an error, nothing to show.
import type { ComponentChildren } from "preact";
import { useContext, useErrorBoundary } from "preact/hooks";
import type { Finding, Progress } from "../../api/types";
import { bytes } from "../../lib/format";
import { asFailure, type Failure } from "../../api/client";
import { useSeconds, type Resource } from "../../state/use-result";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { WindowContext, windowsOf } from "../../widgets/window-context";
import { SeverityMark, ranked } from "./data-warnings";
import "./load-states.css";

const texts = t.loadStates;

interface ShowProps<T> {
  resource: Resource<T>;
  children: (value: T) => ComponentChildren;
}

/** The result, or what stands for it. */
export function Show<T>({ resource: { loaded, retry, cancel }, children }: ShowProps<T>) {
  const around = useContext(WindowContext);
  switch (loaded.status) {
    case "ready":
      return (
        <WindowContext.Provider value={windowsOf(loaded.value, around)}>
          {children(loaded.value)}
        </WindowContext.Provider>
      );
    case "loading":
      return <Reading progress={loaded.progress} cancel={cancel} />;
    case "failed":
      return <Problem failure={loaded.failure} retry={retry} />;
    case "canceled":
      return (
        <section class="state" role="status" data-testid="canceled">
          <h2>{texts.canceled}</h2>
          <p>{texts.canceledWhy}</p>
          <button type="button" onClick={retry} data-testid="retry">
            {texts.readAgain}
          </button>
        </section>
      );
  }
}

/** The share of the work that is done, 0 to 1; null if only the bytes are known, and all are read: what
 * follows takes a time that nobody knows, and a full bar would say that it is over. */
export function shareDone(progress: Progress): number | null {
  const { bytes_done, bytes_total, traces, traces_done, parts, parts_done } = progress;
  if (parts > 0) return parts_done / parts;
  const part = bytes_total > 0 ? Math.min(1, bytes_done / bytes_total) : null;
  // Of several traces, bytes are of those that are not done.
  const share = traces > 1 ? (traces_done + (part ?? 0) * (traces - traces_done)) / traces : part;
  return share === 1 ? null : share;
}

function Reading({ progress, cancel }: { progress: Progress | null; cancel: () => void }) {
  const seconds = useSeconds();
  if (!progress)
    return (
      <p class="state late muted" role="status" data-testid="loading">
        {texts.loading} {seconds > 2 && `${seconds} s`}
      </p>
    );
  const share = shareDone(progress);
  return (
    <section class="state" role="status" data-testid="progress" data-phase={progress.phase}>
      <h2>{texts.phases[progress.phase]}</h2>
      <progress {...(share !== null && { value: share })} max={1} aria-label={texts.bytesRead} />
      <p class="muted figures">
        {progress.traces > 1 && (
          <span data-testid="traces" data-value={progress.traces_done}>
            {texts.ranks(progress.traces_done, progress.traces)}
          </span>
        )}
        {progress.bytes_total > 0 && (
          <span>{texts.bytes(bytes(progress.bytes_done), bytes(progress.bytes_total))}</span>
        )}
        {progress.events > 0 && <span>{texts.events(progress.events)}</span>}
        <span>
          {progress.seconds_left === null
            ? texts.soFar(seconds)
            : texts.left(Math.max(1, Math.ceil(progress.seconds_left)))}
        </span>
      </p>
      {progress.note !== null && <p data-testid="progress-note">{progress.note}</p>}
      <button type="button" onClick={cancel} data-testid="cancel">
        {texts.cancel}
      </button>
    </section>
  );
}

/** What went wrong and what to do, never an endless wait. */
export function Problem({ failure, retry }: { failure: Failure; retry: () => void }) {
  return (
    <section
      class="state"
      role="alert"
      data-testid="error"
      data-code={failure.code}
      data-status={failure.status ?? ""}
    >
      <h2>{failure.message}</h2>
      {failure.hint && <p>{failure.hint}</p>}
      <p class="muted">
        {failure.code}
        {failure.status !== null && ` (HTTP ${failure.status})`}
      </p>
      <button type="button" onClick={retry} data-testid="retry">
        {texts.retry}
      </button>
      {failure.status === 404 && (
        <>
          {" "}
          <button type="button" onClick={() => go(DEFAULT)} data-testid="default-trace">
            {texts.firstRun}
          </button>
        </>
      )}
      {failure.code === "unknown_phase" && (
        <>
          {" "}
          <button type="button" onClick={() => go({ window: null, step: null })} data-testid="default-window">
            {texts.steadyWindow}
          </button>
        </>
      )}
    </section>
  );
}

/** The URL may name what is no longer there. */
const DEFAULT = { run: null, rank: null, span: null, step: null, window: null };

/** Keeps a mistake in one page from taking the frame down with it. */
export function ErrorBoundary({ children }: { children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary();
  return error === undefined ? children : <Problem failure={asFailure(error)} retry={reset} />;
}

/** The quality findings with their hints. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  if (findings.length === 0) return <p class="muted">{texts.noFindings}</p>;
  return (
    <ul class="findings" data-testid="findings">
      {ranked(findings).map((f, i) => (
        <li key={i} data-code={f.code} data-severity={f.severity}>
          <div>
            <SeverityMark severity={f.severity} /> {f.message}
          </div>
          {f.hint && <div class="hint">{f.hint}</div>}
          <div class="muted small">{f.code}</div>
        </li>
      ))}
    </ul>
  );
}
