// Columns of values of recorded counters.
import { counted } from "../../lib/format";
import type { Column } from "../../widgets/table/columns";

/** A value of a counter, in its own unit. */
export const amount = <Row,>(
  key: "mean" | "min" | "max" | "busy_mean" | "idle_mean",
  head: { title: string; help?: string },
  value: (row: Row) => number | null,
): Column<Row> => ({
  key,
  ...head,
  kind: "count",
  width: 92,
  value,
  cell: (row) => {
    const own = value(row);
    return own === null ? <span class="value muted">–</span> : <span class="value">{counted(own, "")}</span>;
  },
});
