// What if: changes to the program, the step they lead to, what gains how much, the critical path.
import { useState } from "preact/hooks";
import type { ChangeAsked, PathCause, WhatIf as Result } from "../api";
import { bound, duration, exactDuration, percent, plural } from "../base/format";
import { useLatest, useView } from "../load";
import { go, state } from "../state";
import { CsvButton } from "../widgets/csvbutton";
import { Figure } from "../widgets/figure";
import { ShareBar } from "../widgets/sharebar";
import { linkProps } from "./link";
import type { PageProps } from "./page";
import { Show } from "./status";
import { CAUSES, withChange, WhatIfTable } from "./whatiftable";

/** The table of what gains how much does not depend on the changes: it is asked for once. */
export function WhatIf({ selected }: PageProps) {
  const { changes } = state.value;
  const { run, rank, span, step } = selected.place;
  const asked = useView("whatif", selected, { ranking: false, ...(changes !== null && { changes }) });
  const loaded = useLatest(asked.loaded, `${run}/${rank}/${span}/${step}`);
  const ranked = useView("whatif", selected, {});
  const gains = ranked.loaded.status === "ready" ? ranked.loaded.value.rows : null;
  return (
    <div class="whatif fill" aria-busy={asked.loaded !== loaded} data-testid="whatif">
      <Editor changes={loaded.status === "ready" ? loaded.value.changes : []} />
      <Show resource={{ ...asked, loaded }}>{(result) => <Page result={result} gains={gains} />}</Show>
    </div>
  );
}

/** The changes: what is asked of the server is in the URL, one a line. */
function Editor({ changes }: { changes: readonly ChangeAsked[] }) {
  const [text, setText] = useState("");
  const lines = (state.value.changes ?? "").split("\n").filter(Boolean);
  const set = (next: readonly string[]): void => go({ changes: next.join("\n") || null });
  const add = (event: Event): void => {
    event.preventDefault();
    if (!text.trim()) return;
    go({ changes: withChange(state.value.changes, text.trim()) });
    setText("");
  };
  return (
    <section class="changeset">
      <form class="toolbar" onSubmit={add}>
        <label>What if <input data-testid="change-text" value={text} size={44} placeholder="aten::mm=0.5 (half its time), kernel:NAME=0" aria-describedby="change-help"
          onInput={(e) => setText(e.currentTarget.value)} /></label>
        <button type="submit" data-testid="change-add">Add</button>
        {NAMELESS.map((one) => <button key={one.change} type="button" class="quiet" title={one.title} data-testid={`change-${one.change.split("=")[0]}`} onClick={() => go({ changes: withChange(state.value.changes, one.change) })}>{one.label}</button>)}
        {lines.length > 0 && <button type="button" class="link" data-testid="change-clear" onClick={() => set([])}>Clear</button>}
      </form>
      <p id="change-help" class="muted small">Kinds: operator, kernel, module, category (gemm, convolution, …), communication, copies, data_loader, launches, synchronisation. The table below has what gains most.</p>
      {lines.length > 0 && (
        <ul class="changelist" data-testid="changes">{lines.map((line, i) => {
          const told = changes.find((c) => c.text === line) ?? changes[i];
          return (
            <li key={line} data-key={line}>
              <code>{line}</code>
              {told && <span class="muted"> {said(told)}</span>}
              <button type="button" class="quiet" aria-label={`Remove ${line}`} data-testid="change-remove" onClick={() => set(lines.filter((_, j) => j !== i))}>×</button>
            </li>
          );
        })}</ul>
      )}
    </section>
  );
}

const NAMELESS = [
  { change: "synchronisation=0", label: "No waits", title: "As if the host never waited for the device" },
  { change: "launches=0.5", label: "Quicker launches", title: "Calls of the runtime and the latency behind them, twice as fast" },
  { change: "data_loader=0", label: "Data at once", title: "As if the next batch were always there" },
  { change: "communication=0", label: "No communication", title: "As if other ranks were here" },
] as const;

function said(change: ChangeAsked): string {
  const does = change.factor === 0 ? "gone" : change.factor === 1 ? "as it is" : change.factor < 1 ? `${trim(1 / change.factor)} times as fast` : `${trim(change.factor)} times as slow`;
  const parts = [change.host_ns > 0 ? `${duration(change.host_ns)} on the host` : "", change.device_ns > 0 ? `${duration(change.device_ns)} on the device` : ""].filter(Boolean);
  return parts.length > 0 ? `${does}; ${parts.join(", ")} per step` : does;
}

const trim = (n: number): string => String(Number(n.toPrecision(3)));

function Page({ result, gains }: { result: Result; gains: Result["rows"] | null }) {
  return (
    <>
      {result.notes.length > 0 && (
        <aside class="notice" data-kind="host_only">
          {result.notes.map((n) => <p key={n.code} data-testid="whatif-note" data-code={n.code}><b>{n.message}</b> {n.hint}</p>)}
        </aside>
      )}
      <Key result={result} />
      <PathBar causes={result.causes} inferred={result.provenance.timeline === "inferred"} />
      <WhatIfTable result={result} gains={gains} />
    </>
  );
}

function Key({ result }: { result: Result }) {
  const { step } = state.value;
  const steps = step === null ? `${plural(result.steps.length, "step")}, on average` : `step ${step}`;
  const asked = result.changes.length > 0;
  const error = result.replay_error_share;
  return (
    <div class="figures-row">
      <Figure name="measured_ns" label="Step" exact={result.measured_ns} unit="ns" value={duration(result.measured_ns)} note={steps} help="The mean of the complete steps, or the selected one, as recorded." />
      <Figure name="predicted_ns" label="Predicted" exact={result.predicted_ns} unit="ns" value={duration(result.predicted_ns)} bound={asked ? bound(result.bound_ns) : ""}
        note={asked ? "with the changes" : "nothing is changed yet"} help="The step less what the replay gains. ± by what nothing explains, and by the bounds of inferred times." />
      <Figure name="gain_share" label="Gain" exact={result.gain_share} unit="of 1" value={asked ? percent(result.gain_share) : "–"} note={asked ? `${duration(result.gain_ns)} per step` : ""} help="Of the step as it was recorded." />
      <Figure name="replay_error_share" label="Replay error" exact={error} unit="of 1" value={error === null ? "–" : `${error > 0 ? "+" : ""}${percent(error)}`}
        note={`replayed: ${duration(result.replayed_ns)}`} help="By how much the unchanged step, replayed from durations and known dependencies alone, misses what was measured. The smaller, the more a prediction is worth." />
    </div>
  );
}

/** What the critical path goes through: its parts sum to the step. */
function PathBar({ causes, inferred }: { causes: readonly PathCause[]; inferred: boolean }) {
  return (
    <section>
      <h2 class="withcsv">The critical path <small class="muted">what decides how long a step is; the parts sum to it</small> <a class="small" data-testid="to-timeline" {...linkProps({ view: "timeline", critical: "1" })}>show it on the timeline</a><CsvButton name="path-causes" file="critical-path" rows={causes} /></h2>
      <table class="bars" data-testid="path-causes"><tbody>
        {[...causes].sort((a, b) => b.path_ns - a.path_ns).map((c) => {
          const known = CAUSES[c.cause];
          return (
            <tr key={c.cause} data-key={c.cause} data-value={c.path_ns}>
              <td class="label" title={known?.help}>{known?.label ?? c.cause}</td>
              <td class="track"><ShareBar share={c.share} category={known?.category ?? "other"} inferred={inferred && known?.device === true} /></td>
              <td class="number" title={exactDuration(c.path_ns)}>{duration(c.path_ns)}</td>
              <td class="number muted">{percent(c.share)}</td>
            </tr>
          );
        })}
      </tbody></table>
    </section>
  );
}
