// The counters that the trace records, in the selected interval.
import type { AreaCounter } from "../../api/types";
import { t } from "../../i18n";
import { amount } from "../shared/counter-columns";
import { field, type Column } from "../../widgets/table/columns";
import { AreaTable } from "./area-table";
import { Rest, Times } from "./area-times";
import type { AreaTabProps } from "./area-props";

const texts = t.timelineArea;
const heads = t.counters.columns;

/** Of all tracks, whatever tracks are selected. */
export function AreaCounters(props: AreaTabProps) {
  return (
    <Times {...props}>
      {(times) => (
        <>
          {props.options.tracks !== undefined && <p class="muted">{texts.ofAllTracks}</p>}
          <Rest rows={times.counters.length} all={times.counters_count} />
          {times.counters.length === 0 ? (
            <p class="state">{texts.noCounters}</p>
          ) : (
            <AreaTable
              name="area-counters"
              noun={texts.nouns.counters[0] ?? ""}
              nouns={texts.nouns.counters[1] ?? ""}
              columns={COLUMNS}
              rows={times.counters}
              rowKey={(r) => String(r.counter)}
              defaultSort="name"
            />
          )}
        </>
      )}
    </Times>
  );
}

const COLUMNS: readonly Column<AreaCounter>[] = [
  field("name", heads.one, "text", 260, { full: (r) => r.name }),
  field("process", heads.process, "text", 160, { full: (r) => r.process }),
  amount("mean", heads.mean, (r) => r.mean),
  amount("min", heads.min, (r) => r.min),
  amount("max", heads.max, (r) => r.max),
  field("values", heads.values, "count", 76),
];
