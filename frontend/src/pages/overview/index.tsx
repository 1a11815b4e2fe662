// The overview: what limits the recording, where its time goes, and what to fix first.
import { useState } from "preact/hooks";
import type { Overview as Result } from "../../api/types";
import { traceOf, useLatest, useView, type Resource } from "../../state/use-result";
import { t } from "../../i18n";
import { Compilation } from "./compilation";
import { TopFindings } from "./top-findings";
import { KeyFigures } from "./key-figures";
import { DeviceUse } from "./device-use";
import { Hotspots } from "./hotspots";
import { IdleBefore } from "./idle-before";
import { RecordingLine } from "../shared/recording-line";
import { RooflineThumbnail } from "./roofline-thumbnail";
import { Serving } from "./serving";
import { Steps } from "./steps";
import { VerdictLine } from "./verdict-line";
import { WaitedFor } from "./waited-for";
import { AccountWithPath } from "./account-with-path";
import { Card } from "../shared/card";
import { Findings } from "../shared/load-states";
import { NoDeviceTimes } from "../shared/no-device-times";
import type { PageProps } from "../page-props";
import { Facts, TotalsCard } from "../shared/cards";
import "./overview.css";

const texts = t.overview;

/** Each card asks for its own data and comes when that is there. Of a selected step the last figures
 * stay until the next are there, and with them the place on the page and the focus. */
export function Overview({ selected, base }: PageProps) {
  const { step } = selected.place;
  const [page, setPage] = useState({ of: "", offset: 0 });
  const of = traceOf(selected.place);
  const offset = page.of === of ? page.offset : base.steps_offset;
  const all = useView("overview", selected, offset > 0 ? { offset } : {}, null);
  const ofStep = useView("overview", selected, step === null ? null : {});
  const asked = step === null ? all : ofStep;
  const now = useLatest(asked, of);
  return (
    <div class="overview" aria-busy={now.isStale}>
      <Card lines={2} resource={now}>
        {(result) => (
          <div>
            <RecordingLine overview={result} />
            <VerdictLine overview={result} />
            {result.failures.length > 0 && <Findings findings={result.failures} />}
          </div>
        )}
      </Card>
      <WaitedFor selected={selected} />
      <TopFindings selected={selected} limit={limitOf(now)} />
      {base.provenance.timeline === "none" && <NoDeviceTimes overview={base} />}
      <Card lines={3} resource={step === null ? { ...now, loaded: { status: "ready", value: base } } : now}>
        {(result) => <KeyFigures all={base} now={result} step={step} />}
      </Card>
      <Card title={t.timeAccount.title} lines={12} resource={now}>
        {(result) => <AccountWithPath now={result} selected={selected} />}
      </Card>
      <Serving selected={selected} base={base} />
      <Compilation selected={selected} base={base} />
      <Hotspots selected={selected} />
      <div class="columns">
        <Card lines={6} resource={now}>
          {(result) => <IdleBefore now={result} />}
        </Card>
        <Aside selected={selected} base={base} now={now} />
      </div>
      {base.steps.length > 1 && (
        <Card title={texts.steps} lines={12} resource={all}>
          {(result) => <Steps all={result} onPage={(to) => setPage({ of, offset: to })} />}
        </Card>
      )}
      <div class="columns equal">
        {base.device.length > 0 && <Facts title={texts.device} facts={base.device} testid="device-facts" />}
        <Facts title={texts.run} facts={base.run} testid="run-facts" />
      </div>
    </div>
  );
}

const limitOf = ({ loaded }: Resource<Result>) =>
  (loaded.status === "ready" && loaded.value.verdict?.time_class) || null;

interface AsideProps extends PageProps {
  now: Resource<Result>;
}

/** What follows from the figures of the selected steps. */
function Aside({ selected, base, now }: AsideProps) {
  return (
    <div class="overview-side">
      <Card lines={6} resource={now}>
        {(result) => (
          <>
            <TotalsCard overview={result} step={selected.place.step} />
            <DeviceUse now={result} step={selected.place.step} />
          </>
        )}
      </Card>
      {base.use.product_flops !== null && <RooflineThumbnail selected={selected} />}
    </div>
  );
}
