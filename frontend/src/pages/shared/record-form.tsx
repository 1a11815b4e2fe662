// What to record of a running job: steps, ranks, and what each of them writes.
import { useState } from "preact/hooks";
import type { RunningJob } from "../../api/types";
import type { RecordingWish } from "../../api/client";
import { duration } from "../../lib/format";
import { t } from "../../i18n";
import { ProcessTable } from "./record-progress";

const texts = t.record;

export type Wish = RecordingWish;

/** As a select has it; the empty one is as the job was configured. */
const SWITCH = { "": null, yes: true, no: false } as const;
type Switch = keyof typeof SWITCH;
const PARTS = ["shapes", "stacks", "memory"] as const;
type Chosen = Readonly<Record<(typeof PARTS)[number], Switch>>;

interface RecordFormProps {
  job: RunningJob;
  busy: boolean;
  ask: (wish: Wish) => void;
}

export function RecordForm({ job, busy, ask }: RecordFormProps) {
  const [steps, setSteps] = useState(3);
  const [ranks, setRanks] = useState("");
  const [parts, setParts] = useState<Chosen>({ shapes: "", stacks: "", memory: "" });
  const wish = (): Wish => ({
    job: job.job,
    steps,
    warmup: 1,
    ranks: ranks.trim() || null,
    shapes: SWITCH[parts.shapes],
    stacks: SWITCH[parts.stacks],
    memory: SWITCH[parts.memory],
  });
  return (
    <form
      data-testid="record-form"
      onSubmit={(event) => {
        event.preventDefault();
        ask(wish());
      }}
    >
      <p data-testid="record-about">{about(job)}</p>
      <label>
        {texts.steps}
        <input
          type="number"
          required
          min={1}
          max={1000}
          value={steps}
          data-testid="record-steps"
          onInput={(event) => setSteps(event.currentTarget.valueAsNumber || 0)}
        />
      </label>
      {job.processes > 1 && (
        <label>
          {texts.ranks}
          <input
            type="text"
            pattern="[0-9,\- ]*"
            placeholder={texts.ranksHelp}
            value={ranks}
            data-testid="record-ranks"
            onInput={(event) => setRanks(event.currentTarget.value)}
          />
        </label>
      )}
      <Parts parts={parts} change={setParts} />
      <p class="muted">{texts.cost}</p>
      <button type="submit" disabled={busy} data-testid="record-start">
        {texts.start}
      </button>
      <ProcessTable job={job} />
    </form>
  );
}

function Parts({ parts, change }: { parts: Chosen; change: (parts: Chosen) => void }) {
  return PARTS.map((part) => (
    <label key={part}>
      {texts.parts[part]}
      <select
        value={parts[part]}
        data-testid={`record-${part}`}
        onChange={(event) => change({ ...parts, [part]: event.currentTarget.value as Switch })}
      >
        <option value="">{texts.asConfigured}</option>
        <option value="yes">{texts.yes}</option>
        <option value="no">{texts.no}</option>
      </select>
    </label>
  ));
}

function about(job: RunningJob): string {
  const { least_step: least, greatest_step: greatest } = job;
  const pace = job.step_ns === null ? "" : texts.pace(duration(job.step_ns));
  const steps = least === greatest ? texts.atStep(least ?? 0) : texts.atSteps(least ?? 0, greatest ?? 0);
  return [texts.processes(job.job, job.processes), steps, pace].filter(Boolean).join(texts.separator);
}
