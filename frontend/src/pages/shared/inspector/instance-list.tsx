// The list of the calls behind a row of a table; a click selects one.
import { useState } from "preact/hooks";
import type { Instances, Item, Options } from "../../../api/types";
import { linkProps } from "../../../state/links";
import { go } from "../../../state/url";
import { t } from "../../../i18n";
import { Segmented } from "../../../widgets/controls/segmented";
import { derived, field, type Column } from "../../../widgets/table/columns";
import { Table } from "../../../widgets/table/table";
import "./instance-list.css";

const texts = t.instancesPanel;

export type Order = NonNullable<Options["kernel_instances"]["order"]>;

const ORDERS: readonly Order[] = ["typical", "duration", "time"];

interface ListProps {
  found: Instances;
  nouns: typeof texts.call;
  order: Order;
  setOrder: (order: Order) => void;
  /** The row of the selected one. */
  chosen: number | null;
  inferred: boolean;
}

export function InstanceList({ found, nouns, order, setOrder, chosen, inferred }: ListProps) {
  const [sort, setSort] = useState<string | null>(null);
  const [filter, setFilter] = useState<string | null>(null);
  const { items, typical, calls } = found;
  return (
    <div class="instance-list">
      <Table
        name="instances"
        {...nouns}
        columns={COLUMNS}
        rows={items}
        rowKey={(i) => String(i.index)}
        sort={sort}
        defaultSort=""
        filter={filter}
        onSort={setSort}
        onFilter={setFilter}
        inferred={inferred}
        selected={chosen === null ? null : String(chosen)}
        onOpen={(i) => go({ instance: i.index === typical?.index ? null : i.index })}
      >
        <Segmented
          label={texts.order}
          value={order}
          onPick={setOrder}
          choices={ORDERS.map((value) => ({ value, label: texts.orders[value] }))}
        />
        {items.length < calls && <span class="muted">{texts.ofCalls(calls)}</span>}
      </Table>
    </div>
  );
}

const COLUMNS: readonly Column<Item>[] = [
  field("start_ns", texts.columns.start, "time", 124, {
    cell: (i) => (
      <a
        class="value"
        {...linkProps({ view: "timeline", item: `${i.table}:${i.index}` })}
        title={texts.toTimeline}
      >
        {(i.start_ns / 1e6).toFixed(6)} ms
      </a>
    ),
  }),
  derived("duration_ns", texts.columns.duration, "time", 84, (i) => i.end_ns - i.start_ns),
  field("bound_ns", texts.columns.bound, "time", 84, { optional: true }),
  field("index", texts.columns.row, "count", 72),
];
