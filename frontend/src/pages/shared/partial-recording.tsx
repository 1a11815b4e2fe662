// What a page shows of a recording that has nothing for it: a memory snapshot, a memory
// timeline, or the dump of a flight recorder, without a trace beside it; or a file without events.
import type { Overview } from "../../api/types";
import { t } from "../../i18n";
import { linkProps } from "../../state/links";

/** The page that shows such a recording, by the finding of its reader. */
const SHOWN_BY = {
  snapshot_alone: "memory",
  memory_timeline_alone: "memory",
  flight_recorder_alone: "distributed",
  no_events: "recording",
  nothing_read: "recording",
} as const;

export type Partial = keyof typeof SHOWN_BY;

const isPartial = (code: string): code is Partial => code in SHOWN_BY;

/** The finding that says so; null of any other recording. */
export const partialOf = ({ provenance }: Pick<Overview, "provenance">): Partial | null =>
  provenance.warnings.map(({ code }) => code).find(isPartial) ?? null;

export function PartialRecording({ overview, partial }: { overview: Overview; partial: Partial }) {
  const found = overview.provenance.warnings.find(({ code }) => code === partial);
  return (
    <section class="state" data-testid="partial-recording">
      <h2>{found?.message}</h2>
      <p>
        <a {...linkProps({ view: SHOWN_BY[partial] })}>{t.partialRecording[partial]}</a>
      </p>
      {found?.hint && <p class="muted">{found.hint}</p>}
    </section>
  );
}
