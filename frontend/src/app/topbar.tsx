// Selectors for run, rank, span and window; the source badge and the findings badge.
import { phaseOf } from "../api/phases";
import type { Finding, Overview, Runs } from "../api/types";
import { withRank, type Selected } from "../state/selection";
import { go, state } from "../state/url";
import { choose, language, LANGUAGES, t, type Language } from "../i18n";
import { rankChoices, runChoices, spanChoices, windowChoices } from "../pages/shared/selector-choices";
import { SeverityMark, ranked, summary } from "../pages/shared/data-warnings";
import { linkProps, ofRank } from "../state/links";
import { TimelineSource, sourceLabel } from "../pages/shared/timeline-source";
import { Findings } from "../pages/shared/load-states";
import { RecordControl } from "./record-control";
import { Picker } from "../widgets/controls/picker";
import { Popover } from "../widgets/controls/popover";
import "../widgets/controls/badge.css";
import "./topbar.css";

interface TopBarProps {
  runs: Runs;
  selected: Selected;
  /** Null while it is being read. */
  overview: Overview | null;
  /** Shows the keys. */
  help: () => void;
}

export function TopBar({ runs, selected, overview, help }: TopBarProps) {
  const findings = [
    ...(overview?.provenance.warnings ?? []),
    ...(selected.run?.warnings ?? []),
    ...runs.warnings,
  ];
  return (
    <header class="topbar">
      <PlacePickers {...{ runs, selected, overview }} />
      {runs.scanning && <span class="muted">{t.topbar.looking}</span>}
      <span class="push" />
      <RecordControl />
      {overview && <SourceBadge overview={overview} />}
      {overview && <FindingsBadge findings={findings} />}
      <LanguagePicker />
      <button
        type="button"
        class="quiet"
        onClick={help}
        aria-label={t.topbar.keys}
        aria-haspopup="dialog"
        title={`${t.topbar.keys}  (?)`}
        data-testid="help-open"
      >
        ?
      </button>
    </header>
  );
}

function PlacePickers({ runs, selected, overview }: Omit<TopBarProps, "help">) {
  const { place, worker } = selected;
  const { step, window } = state.value;
  const pick =
    (key: "run" | "span") =>
    (value: string | number | null): void =>
      go({ [key]: value });
  const pickWindow = (value: string | number | null): void =>
    go(
      typeof value === "number"
        ? { window: phaseOf(window), step: value }
        : { window: value === "all" ? value : phaseOf(value), step: null },
    );
  // Another rank of the same span has the same steps; what it lacks after all is said in words.
  const pickRank = (value: string | number | null): void =>
    go(withRank(selected, Number(value)).span ? ofRank(Number(value)) : { rank: Number(value) });
  return (
    <>
      <Picker
        name={t.topbar.run}
        testid="run-picker"
        value={place.run}
        choices={runChoices(runs)}
        onPick={pick("run")}
      />
      <Picker
        name={t.topbar.rank}
        testid="rank-picker"
        value={place.rank}
        choices={rankChoices(selected)}
        onPick={pickRank}
      />
      <Picker
        name={t.topbar.span}
        testid="span-picker"
        value={place.span}
        choices={spanChoices(worker)}
        onPick={pick("span")}
      />
      <Picker
        name={t.topbar.window}
        testid="step-picker"
        value={step ?? window}
        choices={
          overview
            ? windowChoices(overview, window)
            : [{ value: step ?? window, label: String(step ?? window ?? t.selectorChoices.steady) }]
        }
        onPick={pickWindow}
      />
    </>
  );
}

function LanguagePicker() {
  return (
    <select
      class="quiet"
      aria-label={t.topbar.language}
      title={t.topbar.language}
      data-testid="language"
      value={language}
      onChange={(event) => choose(event.currentTarget.value as Language)}
    >
      {Object.entries(LANGUAGES).map(([code, name]) => (
        <option key={code} value={code} lang={code}>
          {name}
        </option>
      ))}
    </select>
  );
}

function SourceBadge({ overview }: { overview: Overview }) {
  const { timeline } = overview.provenance;
  return (
    <Popover
      class={`badge source ${timeline}`}
      testid="source-badge"
      title={t.topbar.source}
      attributes={{ "data-timeline": timeline }}
      label={
        <>
          <i
            class={timeline === "inferred" ? "swatch inferred" : "swatch"}
            style={{ "--fill": timeline === "none" ? "transparent" : "var(--kernel)" }}
          />
          {sourceLabel(overview)}
        </>
      }
    >
      {(close) => <TimelineSource overview={overview} close={close} />}
    </Popover>
  );
}

function FindingsBadge({ findings }: { findings: readonly Finding[] }) {
  const worst = ranked(findings)[0]?.severity;
  const grave = worst !== undefined && worst !== "info";
  return (
    <Popover
      class={grave ? `badge findings-badge some ${worst}` : "badge findings-badge"}
      testid="findings-badge"
      title={t.topbar.findingsHelp}
      attributes={{ "data-value": String(findings.length), "data-severity": worst ?? "" }}
      label={
        <>
          {grave && <SeverityMark severity={worst} />}
          {summary(findings)}
        </>
      }
    >
      {(close) => (
        <>
          <h2>
            {t.topbar.findings}{" "}
            <small>
              <a {...linkProps({ view: "recording" })} onClickCapture={close} data-testid="about-recording">
                {t.topbar.aboutRecording}
              </a>
            </small>
          </h2>
          <Findings findings={findings} />
        </>
      )}
    </Popover>
  );
}
