// Notes of the server about the ranks, and the ranks that the others wait for.
import type { Distributed as Result, Straggler } from "../../api/types";
import { duration } from "../../lib/format";
import { t } from "../../i18n";
import { linkProps, ofRank } from "../../state/links";

const texts = t.distributed;

export function Notes({ result }: { result: Result }) {
  if (result.notes.length === 0) return null;
  return (
    <aside class="notice" data-kind="host_only">
      {result.notes.map((n) => (
        <p key={n.code} data-testid="rank-note" data-code={n.code}>
          <b>{n.message}</b> {n.hint}
        </p>
      ))}
    </aside>
  );
}

export function Stragglers({ result }: { result: Result }) {
  if (result.stragglers.length === 0) return null;
  return (
    <aside class="notice">
      <ul class="plainlist" data-testid="stragglers">
        {result.stragglers.map((s) => (
          <Late key={s.rank} straggler={s} />
        ))}
      </ul>
    </aside>
  );
}

function Late({ straggler: s }: { straggler: Straggler }) {
  return (
    <li data-rank={s.rank} data-cause={s.cause}>
      <b>
        {texts.waitFor(s.rank, (text) => (
          <a {...linkProps({ view: "overview", ...ofRank(s.rank) })}>{text}</a>
        ))}
      </b>{" "}
      {texts.last(s.last, s.collectives, duration(s.caused_ns))}
      {texts.why(s.cause, duration(s.excess_ns))}
    </li>
  );
}
