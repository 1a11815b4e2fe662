// A trace without device times: why, and what to change. Gently where there is no device at all.
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
        <p><b>{t.nodevice.noDeviceTimes}</b> {unusable.message}</p>
        {unusable.hint && <p>{unusable.hint}</p>}
      </aside>
    );
  }
  if (finding(HOST_ONLY)) {
    return (
      <aside class="notice" data-testid="no-device-times" data-kind="host_only">
        <p><b>{t.nodevice.hostOnly}</b> {t.nodevice.cpuAlone}</p>
        <details>
          <summary>{t.nodevice.deviceAfterAll}</summary>
          <p>{t.nodevice.notRecorded}</p>
          <CaptureLines />
        </details>
      </aside>
    );
  }
  return (
    <aside class="notice" data-testid="no-device-times" data-kind="device">
      <p><b>{t.nodevice.noDeviceTimes}</b> {finding(DEAD)?.message ?? t.nodevice.why}</p>
      <p>{t.nodevice.changeCapture}</p>
      <CaptureLines />
      <p class="muted">{t.nodevice.follows}</p>
    </aside>
  );
}
