// The overview: step time, utilization of the device, top findings.
import { useMemo } from "preact/hooks";
import { CATEGORIES, DEVICE } from "../../lib/color";
import type { Overview as Result } from "../../api/types";
import { useLatest, useView } from "../../state/use-result";
import { state } from "../../state/url";
import { t } from "../../i18n";
import { Averages } from "./averages";
import { TopFindings } from "./top-findings";
import { KeyFigures } from "./key-figures";
import { DeviceUse } from "./device-use";
import { IdleBefore } from "./idle-before";
import { hasTime, selectedStep, Steps } from "./steps";
import { RecordingLine } from "./recording-line";
import { VerdictLine } from "./verdict-line";
import { TimeAccount } from "./time-account";
import { TimeByStep } from "./time-by-step";
import { NoDeviceTimes } from "../shared/no-device-times";
import type { PageProps } from "../page-props";
import { TimelineSource } from "../shared/timeline-source";
import { Show } from "../shared/load-states";
import { Facts, TopKernels, TopOperators, TotalsCard } from "../shared/cards";

const texts = t.overview;

/** The chart always shows all steps; figures and totals are of the selected one. Until these are
 * there the last ones stay, and with them the place on the page and the focus. */
export function Overview({ selected, base }: PageProps) {
  const { run, rank, span } = selected.place;
  const resource = useView("overview", selected, {});
  const loaded = useLatest(resource.loaded, `${run}/${rank}/${span}`);
  return (
    <Show resource={{ ...resource, loaded }}>
      {(now) => <Page selected={selected} all={base} now={now} busy={loaded !== resource.loaded} />}
    </Show>
  );
}

interface OverviewPageProps {
  selected: PageProps["selected"];
  all: Result;
  now: Result;
  busy: boolean;
}

function Page({ selected, all, now, busy }: OverviewPageProps) {
  // What the trace does not tell is not shown as 0. Communication may be the host's own (gloo).
  const hostOnly = all.provenance.timeline === "none";
  const categories = useMemo(
    () => (hostOnly ? CATEGORIES.filter((c) => !DEVICE.has(c) || hasTime(all.steps, c)) : CATEGORIES),
    [all, hostOnly],
  );
  const { step } = state.value;
  return (
    <div class="overview" aria-busy={busy}>
      <div>
        <RecordingLine overview={all} />
        <VerdictLine overview={all} />
      </div>
      {hostOnly && <NoDeviceTimes overview={all} />}
      <KeyFigures all={all} now={now} step={step} />
      <div class="columns">
        <section class="wide">
          <TimeAccount now={now} step={step} />
          <Steps all={all} categories={categories} />
          <Averages all={all} categories={categories} chosen={selectedStep(all)} />
        </section>
        <section class="side">
          <TopFindings selected={selected} />
          <TotalsCard overview={now} step={step} />
          <DeviceUse now={now} step={step} />
          <TopOperators overview={now} />
        </section>
      </div>
      <TimeByStep all={all} step={step} />
      <div class="columns equal top">
        <IdleBefore now={now} />
        <TopKernels overview={now} />
      </div>
      <section>
        <h2>{texts.meaning(t.timelineSource.explained[all.provenance.timeline].label)}</h2>
        <TimelineSource overview={now} />
      </section>
      <div class="columns equal">
        <Facts title={texts.device} facts={all.device} testid="device-facts" />
        <Facts title={texts.run} facts={all.run} testid="run-facts" />
      </div>
    </div>
  );
}
