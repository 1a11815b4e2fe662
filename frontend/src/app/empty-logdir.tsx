// The page for a logdir without traces: where the server looked, and how to record one.
import type { Runs } from "../api/types";
import { t } from "../i18n";
import { CaptureLines } from "../pages/shared/timeline-source";
import { RecordButton } from "../pages/shared/record-button";
import { Findings } from "../pages/shared/load-states";

export function Scanning({ runs }: { runs: Runs }) {
  return (
    <p class="state muted" role="status" data-testid="scanning">
      {t.emptyLogdir.looking(runs.logdir)}
    </p>
  );
}

export function EmptyLogdir({ runs }: { runs: Runs }) {
  return (
    <section class="state" data-testid="empty">
      <h2>{t.emptyLogdir.title(runs.logdir)}</h2>
      <p>{t.emptyLogdir.what()}</p>
      <CaptureLines />
      <p class="muted">{t.emptyLogdir.again}</p>
      <p>
        {t.emptyLogdir.running} <RecordButton testid="record-open" />
      </p>
      {runs.warnings.length > 0 && (
        <>
          <h2>{t.emptyLogdir.else}</h2>
          <Findings findings={runs.warnings} />
        </>
      )}
    </section>
  );
}
