// What the ranks of a group receive in all-to-alls, as a table.
import type { ExpertRow } from "../../api/types";
import { bytes, MISSING, significant } from "../../lib/format";
import { linkProps, ofRank } from "../../state/links";
import { parallelism as texts } from "../../i18n/parallelism";
import { field, type Column } from "../../widgets/table/columns";

const times = (ratio: number | null): string => (ratio === null ? MISSING : `${significant(ratio)}×`);

export const EXPERT_COLUMNS: readonly Column<ExpertRow>[] = [
  field("group", texts.group, "text", 120, {
    cell: (r) => <span class="value">{r.group || MISSING}</span>,
  }),
  field("axis", texts.axis, "text", 130),
  field("ranks", texts.ranks, "text", 130),
  field("members", texts.members, "count", 76),
  field("imbalance", texts.imbalance, "count", 100, {
    cell: (r) => <span class="value">{times(r.imbalance)}</span>,
  }),
  field("busiest_rank", texts.busiest, "count", 96, {
    cell: (r) =>
      r.busiest_rank === null ? (
        <span class="value">{MISSING}</span>
      ) : (
        <a class="value" {...linkProps({ view: "overview", ...ofRank(r.busiest_rank) })}>
          {r.busiest_rank}
        </a>
      ),
  }),
  field("received_bytes", texts.received, "bytes", 100, {
    cell: (r) => <span class="value">{bytes(r.received_bytes)}</span>,
  }),
  field("most_bytes", texts.most, "bytes", 100, {
    cell: (r) => <span class="value">{bytes(r.most_bytes)}</span>,
  }),
  field("computation_imbalance", texts.workImbalance, "count", 120, {
    cell: (r) => <span class="value">{times(r.computation_imbalance)}</span>,
  }),
  field("computation_ns", texts.work, "time", 110),
  field("longest_ns", texts.longestWork, "time", 100),
  field("exchanges", texts.exchanges, "count", 100, {
    cell: (r) => <span class="value">{significant(r.exchanges)}</span>,
  }),
  field("steps", { title: texts.steps }, "count", 64),
];
