// The what-if page: changes to the program, the predicted step, the critical path.
import { useState } from "preact/hooks";
import type { ChangeAsked, PathClass, WhatIf as Result } from "../../api/types";
import { classColor } from "../../lib/class-color";
import { duration, durationLimits, exactDuration, percent, percentLimits } from "../../lib/format";
import { useLatest, useView, type Resource } from "../../state/use-result";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { CsvButton } from "../../widgets/table/csv-button";
import { KeyFigure } from "../../widgets/controls/key-figure";
import { ShareBar } from "../../widgets/charts/share-bar";
import { linkProps } from "../../state/links";
import type { PageProps } from "../page-props";
import { MissingStreams } from "../shared/data-warnings";
import { Show } from "../shared/load-states";
import { ofDevice, withChange, WhatIfTable } from "./tables";
import "./whatif.css";

const texts = t.whatif;

/** Gains of further changes are those of the changed step; with a refused change, of the recorded one. */
export function WhatIf({ selected }: PageProps) {
  const { changes } = state.value;
  const asked = useView("whatif", selected, { ranking: false, ...(changes !== null && { changes }) });
  const latest = useLatest(asked, JSON.stringify(selected.place));
  const { loaded } = latest;
  const recorded = useView("whatif", selected, {});
  // A line that is not understood, or of nothing that there is, must not replace the page.
  const refused = loaded.status === "failed" && recorded.loaded.status === "ready" ? loaded.failure : null;
  const further = useView("whatif", selected, changes === null || refused ? null : { changes });
  const ranked = changes === null || refused ? recorded : further;
  return (
    <div class="whatif fill" aria-busy={latest.isStale} data-testid="whatif">
      <Editor
        changes={loaded.status === "ready" ? loaded.value.changes : []}
        recorded={recorded.loaded.status === "ready" ? recorded.loaded.value : null}
      />
      {refused && (
        <p class="notice warn" role="alert" data-testid="change-refused" data-code={refused.code}>
          <b>{refused.message}</b> {refused.hint}
        </p>
      )}
      <Show resource={refused ? ranked : latest}>{(result) => <Page result={result} ranked={ranked} />}</Show>
    </div>
  );
}

interface EditorProps {
  changes: readonly ChangeAsked[];
  /** The answer with the names that can be changed; null while it is computed. */
  recorded: Result | null;
}

/** The changes: what is asked of the server is in the URL, one a line. */
function Editor({ changes, recorded }: EditorProps) {
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
        <label>
          {texts.whatIf}{" "}
          <input
            data-testid="change-text"
            value={text}
            size={44}
            placeholder={texts.placeholder}
            aria-describedby="change-help"
            list="change-choices"
            onInput={(e) => setText(e.currentTarget.value)}
          />
          <Choices of={recorded} />
        </label>
        <button type="submit" data-testid="change-add">
          {texts.add}
        </button>
        {NAMELESS.filter((one) => recorded?.choices.some((c) => c.text === about(one.change))).map((one) => (
          <button
            key={one.change}
            type="button"
            class="quiet"
            title={one.title}
            data-testid={`change-${about(one.change)}`}
            onClick={() => go({ changes: withChange(state.value.changes, one.change) })}
          >
            {one.label}
          </button>
        ))}
        {lines.length > 0 && (
          <button type="button" class="link" data-testid="change-clear" onClick={() => set([])}>
            {texts.clear}
          </button>
        )}
      </form>
      <p id="change-help" class="muted small">
        {texts.kinds}
      </p>
      {lines.length > 0 && <ChangeList changes={changes} lines={lines} set={set} />}
    </section>
  );
}

/** Completion: what gains most first. */
function Choices({ of }: { of: Result | null }) {
  const step = of?.measured_ns;
  return (
    <datalist id="change-choices" data-testid="change-choices">
      {of?.choices.map((c) => (
        <option key={c.text} value={`${c.text}=0`}>
          {step && c.free_gain_ns !== null ? texts.gains(percent(c.free_gain_ns / step)) : ""}
        </option>
      ))}
    </datalist>
  );
}

/** What a change is of, without its factor. */
const about = (change: string): string => change.slice(0, change.lastIndexOf("="));

interface ChangeListProps {
  changes: readonly ChangeAsked[];
  lines: readonly string[];
  set: (lines: readonly string[]) => void;
}

function ChangeList({ changes, lines, set }: ChangeListProps) {
  return (
    <ul class="changelist" data-testid="changes">
      {lines.map((line, i) => {
        const change = changes.find((c) => c.text === line) ?? changes[i];
        return (
          <li key={line} data-key={line}>
            <code>{line}</code>
            {change && <span class="muted"> {describe(change)}</span>}
            <button
              type="button"
              class="quiet"
              aria-label={texts.remove(line)}
              data-testid="change-remove"
              onClick={() => set(lines.filter((_, j) => j !== i))}
            >
              ×
            </button>
          </li>
        );
      })}
    </ul>
  );
}

const NAMELESS = [
  { change: "synchronization=0", ...texts.synchronization },
  { change: "launches=0.5", ...texts.launches },
  { change: "data_loader=0", ...texts.dataLoader },
  { change: "communication=0", ...texts.communication },
] as const;

function describe(change: ChangeAsked): string {
  const does =
    change.factor === 0
      ? texts.gone
      : change.factor === 1
        ? texts.asItIs
        : change.factor < 1
          ? texts.faster(trim(1 / change.factor))
          : texts.slower(trim(change.factor));
  const parts = [
    change.host_ns > 0 ? texts.onHost(duration(change.host_ns)) : "",
    change.device_ns > 0 ? texts.onDevice(duration(change.device_ns)) : "",
  ].filter(Boolean);
  return parts.length > 0 ? texts.perStep(does, parts) : does;
}

const trim = (n: number): string => String(Number(n.toPrecision(3)));

/** What the table leaves out is said where the table was asked for. */
function notes(result: Result, gains: Result | null): Result["notes"] {
  const known = new Set(result.notes.map((n) => n.code));
  return [...result.notes, ...(gains?.notes ?? []).filter((n) => !known.has(n.code))];
}

function Page({ result, ranked }: { result: Result; ranked: Resource<Result> }) {
  const gains = ranked.loaded.status === "ready" ? ranked.loaded.value : null;
  const shown = notes(result, gains);
  return (
    <>
      {shown.length > 0 && (
        <aside class="notice" data-kind="host_only">
          {shown.map((n) => (
            <p key={n.code} data-testid="whatif-note" data-code={n.code}>
              <b>{n.message}</b> {n.hint}
            </p>
          ))}
        </aside>
      )}
      <MissingStreams streams={result.provenance.missing_streams} />
      <Key result={result} />
      <PathBar classes={result.classes} inferred={result.provenance.timeline === "inferred"} />
      <WhatIfTable result={result} ranked={ranked} />
    </>
  );
}

function Key({ result }: { result: Result }) {
  const { step } = state.value;
  const chosen = step === null ? texts.steps(result.predicted_total) : texts.step(step);
  const steps = result.is_steady ? chosen : texts.nothingSteady;
  const asked = result.changes.length > 0;
  const error = result.replay_error_share;
  const measured = result.measured_ns;
  const less = (ns: number | null): number | null =>
    ns === null || measured === null ? null : measured - ns;
  const share = (ns: number | null): number | null =>
    ns === null || !result.net_ns ? null : Math.min(ns / result.net_ns, 1);
  return (
    <div class="figures-row">
      <KeyFigure
        name="measured_ns"
        label={result.is_steady ? texts.measured : texts.unsteady}
        exact={result.measured_ns}
        unit="ns"
        note={steps}
        help={texts.measuredHelp}
      />
      <KeyFigure
        name="predicted_ns"
        label={texts.predicted}
        exact={result.predicted_ns}
        unit="ns"
        bound={asked ? durationLimits(less(result.gain_high_ns), less(result.gain_low_ns)) : ""}
        note={asked ? texts.withChanges : texts.nothingChanged}
        help={texts.predictedHelp}
      />
      <KeyFigure
        name="gain_share"
        label={texts.gain}
        exact={result.gain_share}
        unit={texts.ofOne}
        value={asked ? percent(result.gain_share) : "–"}
        bound={asked ? percentLimits(share(result.gain_low_ns), share(result.gain_high_ns)) : ""}
        note={asked ? texts.gainNote(duration(result.gain_ns)) : ""}
        help={texts.gainHelp}
      />
      <KeyFigure
        name="replay_error_share"
        label={texts.error}
        exact={error}
        unit={texts.ofOne}
        value={error === null ? "–" : `${error > 0 ? "+" : ""}${percent(error)}`}
        note={texts.replayed(duration(result.replayed_ns))}
        help={texts.errorHelp}
      />
    </div>
  );
}

/** What the critical path goes through: its parts sum to the step. */
function PathBar({ classes, inferred }: { classes: readonly PathClass[]; inferred: boolean }) {
  return (
    <section>
      <h2 class="withcsv">
        {texts.path} <small class="muted">{texts.pathNote}</small>{" "}
        <a class="small" data-testid="to-timeline" {...linkProps({ view: "timeline", critical: "1" })}>
          {texts.toTimeline}
        </a>
        <CsvButton name="path-classes" file="critical-path" rows={classes} />
      </h2>
      <table class="bars" data-testid="path-classes">
        <tbody>
          {[...classes]
            .sort((a, b) => b.path_ns - a.path_ns)
            .map((c) => (
              <tr key={c.name} data-key={c.name} data-value={c.path_ns}>
                <td class="label" title={c.meaning}>
                  {c.label}
                </td>
                <td class="track">
                  <ShareBar
                    share={c.share}
                    fill={classColor(c.name)}
                    inferred={inferred && ofDevice(c.name)}
                  />
                </td>
                <td class="number" title={exactDuration(c.path_ns)}>
                  {duration(c.path_ns)}
                </td>
                <td class="number muted">{percent(c.share)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  );
}
