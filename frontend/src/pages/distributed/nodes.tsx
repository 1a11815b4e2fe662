// The nodes of a run, as a table.
import type { NodeRow } from "../../api/types";
import { duration } from "../../lib/format";
import { linkProps, ofRank } from "../../state/links";
import { parallelism as texts } from "../../i18n/parallelism";
import { field, type Column } from "../../widgets/table/columns";

export const NODE_COLUMNS: readonly Column<NodeRow>[] = [
  field("host", { title: texts.node }, "text", 180),
  field("ranks", { title: texts.nodeRanks }, "count", 70),
  field("step_ns", { title: texts.step }, "time", 84),
  field("computation_ns", { title: texts.computation }, "time", 98),
  field("exposed_ns", texts.exposed, "time", 112),
  field("exposed_within_ns", texts.within, "time", 112),
  field("exposed_across_ns", texts.across, "time", 112),
  field("copy_ns", { title: texts.copy }, "time", 110),
  field("idle_ns", { title: texts.idle }, "time", 80),
  field("synchronizing_ns", texts.synchronizing, "time", 84),
  field("longest_ns", texts.longest, "time", 150, {
    cell: (r) => (
      <a class="value" {...linkProps({ view: "overview", ...ofRank(r.longest_rank) })}>
        {texts.ofRank(r.longest_rank, duration(r.longest_ns))}
      </a>
    ),
  }),
];
