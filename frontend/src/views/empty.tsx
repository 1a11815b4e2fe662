// A logdir without traces: what was looked for, and how to make one.
import type { Runs } from "../api";
import { CaptureLines } from "./source";
import { Findings } from "./status";

export function Scanning({ runs }: { runs: Runs }) {
  return <p class="state muted" role="status" data-testid="scanning">Looking for traces in {runs.logdir}…</p>;
}

export function EmptyLogdir({ runs }: { runs: Runs }) {
  return (
    <section class="state" data-testid="empty">
      <h2>No traces in {runs.logdir || "the logdir"} yet</h2>
      <p>
        Traces of torch.profiler are files such as <code>worker0.1700000000000.pt.trace.json.gz</code>, in any folder below the
        logdir. With these lines a training script writes one there:
      </p>
      <CaptureLines />
      <p class="muted">The page looks again every few seconds and shows a trace as soon as there is one.</p>
      {runs.warnings.length > 0 && <><h2>What else was found</h2><Findings findings={runs.warnings} /></>}
    </section>
  );
}
