// Collectives that had not ended on all ranks, from their flight recorders: where the job hangs.
import type { OpenCollectiveRow } from "../../api/types";
import { t } from "../../i18n";
import { linkProps, ofRank } from "../../state/links";

const texts = t.distributed;

export function OpenCollectives({ rows }: { rows: readonly OpenCollectiveRow[] }) {
  if (rows.length === 0) return null;
  return (
    <aside class="notice" aria-label={rows[0]?.title} data-testid="open-collectives">
      <ul class="plainlist">
        {rows.map((row) => (
          <Row key={`${row.collective.group}/${row.title}`} row={row} />
        ))}
      </ul>
    </aside>
  );
}

function Row({ row: { title, explanation, collective } }: { row: OpenCollectiveRow }) {
  const causes = [...collective.different.map((call) => call.rank), ...collective.missing];
  return (
    <li data-verdict={collective.verdict} data-ranks={causes.join(" ")}>
      <b>{title}.</b> {explanation}{" "}
      {causes.slice(0, MOST_LINKS).map((rank) => (
        <a key={rank} {...linkProps({ view: "timeline", ...ofRank(rank) })}>
          {texts.callsOf(rank)}{" "}
        </a>
      ))}
    </li>
  );
}

/** Of these ranks the calls are one click away; the others are in the list of ranks. */
const MOST_LINKS = 5;
