// The stages of pipelines, as a table.
import type { StageRow } from "../../api/types";
import { significant } from "../../lib/format";
import { parallelism as texts } from "../../i18n/parallelism";
import { field, worded, type Column } from "../../widgets/table/columns";

export const STAGE_COLUMNS: readonly Column<StageRow>[] = [
  field("stage", texts.stage, "count", 64),
  field("axis", texts.axis, "text", 150),
  field("ranks", texts.ranks, "text", 150),
  field("members", texts.members, "count", 76),
  field("bubble_share", texts.bubbleShare, "share", 130, { bar: () => "other" }),
  field("bubble_ns", texts.bubble, "time", 92),
  field("waiting_ns", texts.messages, "time", 120),
  field("idle_ns", texts.messageIdle, "time", 120),
  field("step_ns", { title: texts.step }, "time", 84),
  field("computation_ns", { title: texts.computation }, "time", 98),
  field("messages", texts.messageCount, "count", 92, {
    cell: (r) => <span class="value">{significant(r.messages)}</span>,
  }),
  worded("order", texts.order, 120, (r) => texts.orders[r.order]),
];
