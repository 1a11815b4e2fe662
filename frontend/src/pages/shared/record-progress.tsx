// The progress of a request: a sentence, a bar, the processes that failed first, and the new recording.
import { useEffect, useRef } from "preact/hooks";
import type { RequestState, RunningJob } from "../../api/types";
import { count } from "../../lib/format";
import { reloads } from "../../lib/tensorboard-host";
import { linkProps } from "../../state/links";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { HeadRow, numbers } from "../../widgets/table/head-row";

const texts = t.record;

interface RecordProgressProps {
  job: RunningJob;
  request: RequestState;
  cancel: () => void;
  again: () => void;
  close: () => void;
}

export function RecordProgress({ job, request, cancel, again, close }: RecordProgressProps) {
  const total = request.phases.reduce((sum, phase) => sum + phase.processes, 0);
  const written = request.phases.find((phase) => phase.phase === "written")?.processes ?? 0;
  const root = useRef<HTMLDivElement>(null);
  // The button that had the focus went with the form.
  useEffect(() => {
    if (document.activeElement === document.body) root.current?.focus();
  }, []);
  return (
    <div
      ref={root}
      tabIndex={-1}
      data-testid="record-progress"
      data-done={request.is_done}
      data-written={written}
    >
      <p class="muted">{wanted(request)}</p>
      <p role="status">{summary(request, written, total)}</p>
      <progress aria-label={texts.written(written, total)} value={written} max={Math.max(1, total)} />
      {written > 0 && request.is_done && <Opening request={request} close={close} />}
      <ProcessTable job={job} />
      {request.is_done ? (
        <button type="button" onClick={again} data-testid="record-again">
          {texts.again}
        </button>
      ) : (
        <button type="button" onClick={cancel} disabled={!request.is_pending} data-testid="record-cancel">
          {texts.cancel}
        </button>
      )}
    </div>
  );
}

/** The way to the new recording, once the server has listed it. */
function Opening({ request, close }: { request: RequestState; close: () => void }) {
  const { recorded } = request;
  if (!recorded) return <p class="muted">{texts.notListed}</p>;
  const place = { view: "overview", run: recorded.run, rank: recorded.rank, span: recorded.span };
  const open = (): void => {
    // The page's list of runs is older than the recording.
    reloads.value += 1;
    close();
    go(place);
  };
  return (
    <p>
      <a {...linkProps(place, open)} data-testid="record-open-new">
        {texts.open}
      </a>
    </p>
  );
}

function wanted({ steps, from_step: from, by }: RequestState): string {
  if (steps === null) return texts.withdrawn;
  return [texts.wanted(steps), from === null ? "" : texts.from(from), by ? texts.by(by) : ""]
    .filter(Boolean)
    .join(texts.separator);
}

function summary({ phases }: RequestState, written: number, total: number): string {
  const others = phases.filter(({ phase }) => phase !== "written");
  const parts = others.map((one) => texts.inPhase(one.processes, phaseName(one.phase)));
  return [texts.written(written, total), ...parts].join(texts.separator);
}

const phaseName = (phase: string): string =>
  (texts.phases as Readonly<Record<string, string>>)[phase] ?? phase;

/** Some processes of the job: those that failed first. */
export function ProcessTable({ job }: { job: RunningJob }) {
  if (job.listed.length === 0) return null;
  const others = job.processes - job.listed.length;
  return (
    <div class="processes">
      <table class="plain" data-testid="record-processes">
        <HeadRow of={[numbers(texts.rank), numbers(texts.step), texts.state, texts.host]} />
        <tbody>
          {job.listed.map((one) => (
            <tr key={one.worker} data-key={one.worker} data-phase={one.phase ?? ""}>
              <td class="number">{one.rank ?? "–"}</td>
              <td class="number">{count(one.step)}</td>
              <td>
                {phaseName(one.phase ?? one.state)}
                {one.error && <span class="refused">{one.error}</span>}
              </td>
              <td>{one.host}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {others > 0 && <p class="muted">{texts.more(others)}</p>}
    </div>
  );
}
