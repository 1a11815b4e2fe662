// The dialog of recordings on demand: the running jobs, what to record, the progress and its end.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RequestState, RunningJob, RunningJobs } from "../../api/types";
import {
  asFailure,
  askRecording,
  cancelRecording,
  fetchExtras,
  fetchRunningJobs,
  type Failure,
} from "../../api/client";
import { shown } from "../../lib/tensorboard-host";
import { t } from "../../i18n";
import { CodeBlock } from "../../widgets/controls/code-block";
import { Findings } from "./load-states";
import { RecordForm, type Wish } from "./record-form";
import { RecordProgress } from "./record-progress";

const texts = t.record;
const POLL_MS = 1000;
const LINES = `from tb_privateuse1 import capture
with capture.on_demand("./log") as job:
    for batch in batches:
        train(batch)
        job.step()`;

interface Asked {
  job: string;
  id: string;
}

/** What this page asked for last: the dialog may be closed meanwhile. */
const asked = signal<Asked | null>(null);

export function RecordDialog({ close }: { close: () => void }) {
  const { isAllowed, jobs, failure, look } = useJobs(asked.value);
  const [refused, setRefused] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const act = (doing: Promise<unknown>): void => {
    setRefused(null);
    setBusy(true);
    doing.then(look, (error: unknown) => setRefused(asFailure(error))).finally(() => setBusy(false));
  };
  const ask = (wish: Wish): void =>
    act(
      askRecording(wish).then((answer) => {
        asked.value = answer;
      }),
    );
  const again = (): void => {
    asked.value = null;
  };
  if (!isAllowed) return <NotAllowed />;
  return (
    <>
      {[failure, refused].map((one) => one && <Refused key={one.code} failure={one} />)}
      {jobs && (
        <Jobs
          jobs={jobs}
          busy={busy}
          ask={ask}
          again={again}
          close={close}
          cancel={(of) => act(cancelRecording(of))}
        />
      )}
    </>
  );
}

interface JobsProps {
  jobs: RunningJobs;
  /** A request is on its way. */
  busy: boolean;
  ask: (wish: Wish) => void;
  cancel: (of: Asked) => void;
  again: () => void;
  close: () => void;
}

function Jobs({ jobs, busy, ask, cancel, again, close }: JobsProps) {
  const [picked, pick] = useState<string | null>(null);
  const alive = jobs.jobs.filter((job) => job.processes > 0);
  const own = jobs.jobs.find((job) => job.job === asked.value?.job && asked.value.id === job.request?.id);
  const job = own ?? alive.find((one) => one.job === picked) ?? alive[0];
  if (!job)
    return (
      <div data-testid="record-no-job">
        <p>{asked.value ? texts.gone(asked.value.job) : texts.noJob}</p>
        <CodeBlock text={LINES} />
        <p class="muted">{texts.noJobHint}</p>
        {jobs.warnings.length > 0 && <Findings findings={jobs.warnings} />}
      </div>
    );
  const request = own?.request ?? pendingOf(job);
  return (
    <>
      {!own && alive.length > 1 && (
        <label>
          {texts.job}
          <select
            data-testid="record-job"
            value={job.job}
            onChange={(event) => pick(event.currentTarget.value)}
          >
            {alive.map((one) => (
              <option key={one.job}>{one.job}</option>
            ))}
          </select>
        </label>
      )}
      {request ? (
        <RecordProgress
          key={request.id}
          job={job}
          request={request}
          cancel={() => cancel({ job: job.job, id: request.id })}
          again={again}
          close={close}
        />
      ) : (
        <RecordForm key={job.job} job={job} busy={busy} ask={ask} />
      )}
    </>
  );
}

/** Another's request: the job serves one at a time. */
function pendingOf(job: RunningJob): RequestState | null {
  return job.request && !job.request.is_done ? job.request : null;
}

function Refused({ failure }: { failure: Failure }) {
  return (
    <p class="refused" role="alert" data-testid="record-refused" data-code={failure.code}>
      {failure.message} {failure.hint}
    </p>
  );
}

function NotAllowed() {
  return (
    <div data-testid="record-off">
      <p>{texts.off}</p>
      <CodeBlock text="TB_PRIVATEUSE1_RECORD=on tensorboard --logdir …" />
      <p>{texts.offElsewhere}</p>
      <CodeBlock text="TB_PRIVATEUSE1_RECORD=gpu7.example tensorboard --logdir …" />
      <p>{texts.orCommand}</p>
      <CodeBlock text="tb-privateuse1 record LOGDIR" />
    </div>
  );
}

interface Looking {
  isAllowed: boolean;
  jobs: RunningJobs | null;
  failure: Failure | null;
  /** Asks again at once. */
  look: () => void;
}

/** The running jobs, asked for every second while the dialog is seen. */
function useJobs(of: Asked | null): Looking {
  const [jobs, setJobs] = useState<RunningJobs | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isAllowed, setAllowed] = useState(true);
  const isKnown = useRef(false);
  const [attempt, setAttempt] = useState(0);
  const visible = shown.value;
  useEffect(() => {
    if (!visible) return undefined;
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const look = async (): Promise<void> => {
      try {
        // Without a permission every other answer would be an error.
        if (!isKnown.current) {
          const { running_jobs } = await fetchExtras({ signal: ending.signal });
          if (running_jobs === null) return setAllowed(false);
          isKnown.current = true;
        }
        setJobs(await fetchRunningJobs(of, { signal: ending.signal }));
        setFailure(null);
      } catch (error) {
        if (ending.signal.aborted) return;
        setFailure(asFailure(error));
      }
      timer = setTimeout(() => void look(), POLL_MS);
    };
    void look();
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [of, visible, attempt]);
  return { isAllowed, jobs, failure, look: () => setAttempt((n) => n + 1) };
}
