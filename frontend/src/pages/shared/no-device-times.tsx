// The notice of a trace without device times: the reason, and what to change.
import type { Finding, Overview } from "../../api/types";
import { t } from "../../i18n";
import { CaptureLines } from "./timeline-source";

/** What the server found out about the lack; see infer/facts.py. */
const HOST_ONLY = "host_only";
const UNUSABLE = "no_device_times";
const DEAD = "events_route_dead";

export function NoDeviceTimes({ overview: { provenance } }: { overview: Overview }) {
  const finding = (code: string): Finding | undefined => provenance.warnings.find((w) => w.code === code);
  const unusable = finding(UNUSABLE);
  if (unusable) {
    return (
      <aside class="notice" data-testid="no-device-times" data-kind="unusable">
        <p>
          <b>{t.noDeviceTimes.noDeviceTimes}</b> {unusable.message}
        </p>
        {unusable.hint && <p>{unusable.hint}</p>}
        <details open>
          <summary>{t.noDeviceTimes.captureLines}</summary>
          <CaptureLines />
        </details>
      </aside>
    );
  }
  if (finding(HOST_ONLY)) {
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
        <b>{t.noDeviceTimes.noDeviceTimes}</b> {finding(DEAD)?.message ?? t.noDeviceTimes.why}
      </p>
      <p>{t.noDeviceTimes.changeCapture}</p>
      <CaptureLines />
      <p class="muted">{t.noDeviceTimes.follows}</p>
    </aside>
  );
}
