// The notice of a trace without device times: the reason, and what to change.
import type { Overview } from "../../api/types";
import { t } from "../../i18n";
import { refusal, ToMethod } from "./data-warnings";
import { CaptureLines } from "./timeline-source";

/** What the server found out about the lack; see inference/trace_metadata.py. */
const HOST_ONLY = "host_only";
const UNUSABLE = "no_device_times";
const DEAD = "events_route_dead";

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
  if (reason && reason.code !== DEAD) {
    return (
      <aside class="notice" data-testid="no-device-times" data-kind="refused">
        <p>
          <b>{t.noDeviceTimes.noDeviceTimes}</b> {reason.message} <ToMethod />
        </p>
        {reason.hint && <p>{reason.hint}</p>}
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
