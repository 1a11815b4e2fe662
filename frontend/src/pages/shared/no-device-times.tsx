// The notice of a trace without device times: the reason, and what to change.
import type { Overview } from "../../api/types";
import { t } from "../../i18n";
import { refusal, ToMethod } from "./data-warnings";
import { CaptureLines } from "./timeline-source";

/** What the server found out about the lack; see inference/trace_metadata.py. */
const HOST_ONLY = "host_only";
const UNUSABLE = "no_device_times";
const DEAD = "events_route_dead";
/** The device is known, and its own remedy: our capture is none. */
const UNSEEN = "no_device_activities";

export function NoDeviceTimes({ overview: { provenance } }: { overview: Overview }) {
  const reason = refusal(provenance.warnings);
  if (reason?.code === UNUSABLE) {
    return (
      <aside class="notice" data-testid="no-device-times" data-kind="unusable">
        <p>
          <b>{t.noDeviceTimes.noDeviceTimes}</b> {reason.message}
        </p>
        {reason.hint && <p>{reason.hint}</p>}
        <details open>
          <summary>{t.noDeviceTimes.captureLines}</summary>
          <CaptureLines />
        </details>
      </aside>
    );
  }
  const refused = reason?.code === DEAD ? undefined : reason;
  const said = refused ?? provenance.warnings.find((w) => w.code === UNSEEN);
  if (said) {
    return (
      <aside class="notice" data-testid="no-device-times" data-kind={refused ? "refused" : "unseen"}>
        <p>
          <b>{t.noDeviceTimes.noDeviceTimes}</b> {said.message} {refused && <ToMethod />}
        </p>
        {said.hint && <p>{said.hint}</p>}
        <p class="muted">{t.noDeviceTimes.follows}</p>
      </aside>
    );
  }
  if (provenance.warnings.some((w) => w.code === HOST_ONLY)) {
    return (
      <aside class="notice" data-testid="no-device-times" data-kind="host_only">
        <p>
          <b>{t.noDeviceTimes.hostOnly}</b> {t.noDeviceTimes.cpuAlone}
        </p>
        <details>
          <summary>{t.noDeviceTimes.deviceAfterAll}</summary>
          <p>{t.noDeviceTimes.notRecorded}</p>
          <CaptureLines />
        </details>
      </aside>
    );
  }
  return (
    <aside class="notice" data-testid="no-device-times" data-kind="device">
      <p>
        <b>{t.noDeviceTimes.noDeviceTimes}</b> {reason?.message ?? t.noDeviceTimes.why}
      </p>
      <p>{t.noDeviceTimes.changeCapture}</p>
      <CaptureLines />
      <p class="muted">{t.noDeviceTimes.follows}</p>
    </aside>
  );
}
