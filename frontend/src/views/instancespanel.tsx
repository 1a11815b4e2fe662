// The activities behind a row of the kernel table: how long they take, and where each of them is.
import { useMemo, useState } from "preact/hooks";
import type { Instances, Item, KernelRow, Options } from "../api";
import { categoryOf, color } from "../base/color";
import { plural } from "../base/format";
import { useView } from "../load";
import type { Selected } from "../place";
import type { Column } from "../widgets/columns";
import { useFocusBack } from "../widgets/focus";
import { Histogram } from "../widgets/histogram";
import { Segmented } from "../widgets/segmented";
import { Table } from "../widgets/table";
import { linkProps } from "./link";
import { Show } from "./status";

interface InstancesPanelProps {
  selected: Selected;
  row: KernelRow;
  group: NonNullable<Options["kernels"]["group"]>;
  /** The row of the selected step among the trace's steps; null for all. */
  step: number | null;
  inferred: boolean;
  close: () => void;
}

type Order = NonNullable<Options["instances"]["order"]>;

const MOST = 1000;

export function InstancesPanel({ selected, row, group, step, inferred, close }: InstancesPanelProps) {
  const [order, setOrder] = useState<Order>("duration");
  useFocusBack();
  const resource = useView("instances", selected, { index: row.longest_row, group, order, limit: MOST, ...(step !== null && { step }) }, null);
  return (
    <section class="instances" data-testid="instances" data-value={row.calls} aria-label={`Activities of ${row.name}`}
      onKeyDown={(e) => { if (e.key === "Escape") { e.stopPropagation(); close(); } }}>
      <div class="toolbar">
        <h2 title={row.name}>{row.name}</h2>
        <Segmented label="Order" value={order} onPick={setOrder} choices={[{ value: "duration", label: "Longest" }, { value: "time", label: "First" }]} />
        <button type="button" class="quiet push" data-testid="instances-close" onClick={close}>Close</button>
      </div>
      <Show resource={resource}>{(found) => <Found found={found} row={row} inferred={inferred} />}</Show>
    </section>
  );
}

function Found({ found, row, inferred }: { found: Instances; row: KernelRow; inferred: boolean }) {
  const [sort, setSort] = useState<string | null>(null);
  const [filter, setFilter] = useState<string | null>(null);
  const bins = useMemo(() => found.histogram.map((b) => ({ low: b.low_ns, high: b.high_ns, count: b.calls })), [found]);
  return (
    <div class="split">
      <Table name="instances" noun="activity" nouns="activities" columns={COLUMNS} rows={found.items} rowKey={(i) => String(i.index)}
        sort={sort} defaultSort="" filter={filter} onSort={setSort} onFilter={setFilter} inferred={inferred}>
        {found.items.length < found.calls && <span class="muted">of {plural(found.calls, "call")}</span>}
      </Table>
      <Histogram name="durations" title={`Durations of ${row.name}`} bins={bins} fill={color(categoryOf(row.kind))} />
    </div>
  );
}

const COLUMNS: readonly Column<Item>[] = [
  { key: "start_ns", title: "Start", kind: "time", width: 140, help: "Since the recording's start; the link shows it in the timeline.", value: (i) => i.start_ns,
    cell: (i) => <a class="value" {...linkProps({ view: "timeline", item: `kernels:${i.index}` })} title="Show it in the timeline">{(i.start_ns / 1e6).toFixed(6)} ms</a> },
  { key: "duration_ns", title: "Duration", kind: "time", width: 100, value: (i) => i.end_ns - i.start_ns },
  { key: "bound_ns", title: "Bound", kind: "time", width: 84, optional: true, help: "How far off it may be.", value: (i) => i.bound_ns },
  { key: "index", title: "Row", kind: "count", width: 84, help: "In the trace's table of device activities; the link opens its record.", value: (i) => i.index,
    cell: (i) => <a class="value" {...linkProps({ event: `kernels/${i.index}` })} title="Open its record">{i.index}</a> },
];
