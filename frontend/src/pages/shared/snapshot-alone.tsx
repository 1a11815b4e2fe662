// What pages of operators and activities show of a memory snapshot without a trace beside it.
import type { Overview } from "../../api/types";
import { t } from "../../i18n";
import { linkProps } from "../../state/links";

/** The finding of its reader. */
const ALONE = "snapshot_alone";

const finding = ({ provenance }: Overview) => provenance.warnings.find((w) => w.code === ALONE);

export const isSnapshotAlone = (overview: Overview): boolean => finding(overview) !== undefined;

export function SnapshotAlone({ overview }: { overview: Overview }) {
  const found = finding(overview);
  return (
    <section class="state" data-testid="snapshot-alone">
      <h2>{found?.message}</h2>
      <p>
        <a {...linkProps({ view: "memory" })}>{t.snapshotAlone.toMemory}</a>
      </p>
      {found?.hint && <p class="muted">{found.hint}</p>}
    </section>
  );
}
