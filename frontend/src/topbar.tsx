// Selectors for run, rank, span and step; the source badge and the findings badge.
import type { Finding, Overview, Runs } from "./api";
import type { Selected } from "./place";
import { go, state } from "./state";
import { rankChoices, runChoices, spanChoices, stepChoices } from "./views/choices";
import { Mark, ranked, summary } from "./views/doubts";
import { linkProps } from "./views/link";
import { Source, sourceLabel } from "./views/source";
import { Findings } from "./views/status";
import { Picker } from "./widgets/picker";
import { Popover } from "./widgets/popover";

interface TopBarProps {
  runs: Runs;
  selected: Selected;
  /** Null while it is being read. */
  overview: Overview | null;
  /** Shows the keys. */
  help: () => void;
}

export function TopBar({ runs, selected, overview, help }: TopBarProps) {
  const { place, run, worker } = selected;
  const pick = (key: "run" | "rank" | "span" | "step") => (value: string | number | null): void => go({ [key]: value });
  const findings = [...(overview?.provenance.warnings ?? []), ...(run?.warnings ?? []), ...runs.warnings];
  return (
    <header class="topbar">
      <Picker name="Run" testid="run-picker" value={place.run} choices={runChoices(runs)} onPick={pick("run")} />
      <Picker name="Rank" testid="rank-picker" value={place.rank} choices={rankChoices(selected)} onPick={pick("rank")} />
      <Picker name="Span" testid="span-picker" value={place.span} choices={spanChoices(worker)} onPick={pick("span")} />
      <Picker name="Step" testid="step-picker" value={state.value.step} choices={overview ? stepChoices(overview) : [{ value: state.value.step, label: state.value.step === null ? "all" : String(state.value.step) }]} onPick={pick("step")} />
      {runs.scanning && <span class="muted">looking for more…</span>}
      <span class="push" />
      {overview && <SourceBadge overview={overview} />}
      {overview && <FindingsBadge findings={findings} />}
      <button type="button" class="quiet" onClick={help} aria-label="Keys and filters" aria-haspopup="dialog" title="Keys and filters  (?)" data-testid="help-open">?</button>
    </header>
  );
}

function SourceBadge({ overview }: { overview: Overview }) {
  const { timeline } = overview.provenance;
  return (
    <Popover class={`badge source ${timeline}`} testid="source-badge" title="Where device times come from" attributes={{ "data-timeline": timeline }}
      label={<><i class={timeline === "inferred" ? "swatch inferred" : "swatch"} style={{ "--fill": timeline === "none" ? "transparent" : "var(--kernel)" }} />{sourceLabel(overview)}</>}>
      {(close) => <Source overview={overview} close={close} />}
    </Popover>
  );
}

function FindingsBadge({ findings }: { findings: readonly Finding[] }) {
  const worst = ranked(findings)[0]?.severity;
  const grave = worst !== undefined && worst !== "info";
  return (
    <Popover class={grave ? `badge findings-badge some ${worst}` : "badge findings-badge"} testid="findings-badge" title="What is doubtful about the data" attributes={{ "data-value": String(findings.length), "data-severity": worst ?? "" }}
      label={<>{grave && <Mark severity={worst} />}{summary(findings)}</>}>
      {(close) => <><h2>Findings <small><a {...linkProps({ view: "quality" })} onClickCapture={close}>with examples</a></small></h2><Findings findings={findings} /></>}
    </Popover>
  );
}
