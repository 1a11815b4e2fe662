// A trace without device times: why, and what to change. Gently where there is no device at all.
import type { Finding, Overview } from "../api";
import { CaptureLines } from "./source";

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
        <p><b>This trace has no device times.</b> {unusable.message}</p>
        {unusable.hint && <p>{unusable.hint}</p>}
      </aside>
    );
  }
  if (finding(HOST_ONLY)) {
    return (
      <aside class="notice" data-testid="no-device-times" data-kind="host_only">
        <p><b>This trace holds host activity only.</b> If the run used the CPU alone, nothing is missing.</p>
        <details>
          <summary>It did use a device?</summary>
          <p>Then its activity was not recorded. With these lines it is:</p>
          <CaptureLines />
        </details>
      </aside>
    );
  }
  return (
    <aside class="notice" data-testid="no-device-times" data-kind="device">
      <p><b>This trace has no device times.</b> {finding(DEAD)?.message ?? WHY}</p>
      <p>Change the capture to these lines; they take the arguments of torch.profiler.profile:</p>
      <CaptureLines />
      <p class="muted">What follows is what the host did.</p>
    </aside>
  );
}

const WHY = "In its default state torch.profiler records host times only on a PrivateUse1 device: it never calls the "
  + "backend's ProfilerStubs, so no device time reaches the trace.";
