// What is behind a row of the kernel or the operator table: how long each takes, and where it is.
import { useMemo, useState } from "preact/hooks";
import type { Instances, Item, Options } from "../api";
import { color, type Category } from "../base/color";
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
  of: Asked;
  name: string;
  calls: number;
  category: Category;
  /** The row of the selected step among the trace's steps; null for all. */
  step: number | null;
  inferred: boolean;
  close: () => void;
}

/** Which lookup tells, of which table's row. */
export type Asked =
  | { view: "instances"; index: number; group: NonNullable<Options["instances"]["group"]> }
  | { view: "calls"; index: number; group: NonNullable<Options["calls"]["group"]> };

type Order = NonNullable<Options["instances"]["order"]>;

const MOST = 1000;

export function InstancesPanel({ selected, of: { view, ...asked }, name, calls, category, step, inferred, close }: InstancesPanelProps) {
  const [order, setOrder] = useState<Order>("duration");
  useFocusBack();
  const resource = useView<"instances" | "calls">(view, selected, { ...asked, order, limit: MOST, ...(step !== null && { step }) }, null);
  return (
    <section class="instances" data-testid="instances" data-value={calls} aria-label={`${view === "calls" ? "Calls" : "Activities"} of ${name}`}
      onKeyDown={(e) => { if (e.key === "Escape") { e.stopPropagation(); close(); } }}>
      <div class="toolbar">
        <h2 title={name}>{name}</h2>
        <Segmented label="Order" value={order} onPick={setOrder} choices={[{ value: "duration", label: "Longest" }, { value: "time", label: "First" }]} />
        <button type="button" class="quiet push" data-testid="instances-close" onClick={close}>Close</button>
      </div>
      <Show resource={resource}>{(found) => <Found found={found} noun={view === "calls" ? CALL : ACTIVITY} fill={color(category)} name={name} inferred={inferred} />}</Show>
    </section>
  );
}

const CALL = { one: "call", many: "calls" };
const ACTIVITY = { one: "activity", many: "activities" };

function Found({ found, noun, fill, name, inferred }: { found: Instances; noun: typeof CALL; fill: string; name: string; inferred: boolean }) {
  const [sort, setSort] = useState<string | null>(null);
  const [filter, setFilter] = useState<string | null>(null);
  const bins = useMemo(() => found.histogram.map((b) => ({ low: b.low_ns, high: b.high_ns, count: b.calls })), [found]);
  return (
    <div class="split">
      <Table name="instances" noun={noun.one} nouns={noun.many} columns={COLUMNS} rows={found.items} rowKey={(i) => String(i.index)}
        sort={sort} defaultSort="" filter={filter} onSort={setSort} onFilter={setFilter} inferred={inferred}>
        {found.items.length < found.calls && <span class="muted">of {plural(found.calls, "call")}</span>}
      </Table>
      <Histogram name="durations" title={`Durations of ${name}`} bins={bins} fill={fill} />
    </div>
  );
}

const COLUMNS: readonly Column<Item>[] = [
  { key: "start_ns", title: "Start", kind: "time", width: 140, help: "Since the recording's start; the link shows it in the timeline.", value: (i) => i.start_ns,
    cell: (i) => <a class="value" {...linkProps({ view: "timeline", item: `${i.table}:${i.index}` })} title="Show it in the timeline">{(i.start_ns / 1e6).toFixed(6)} ms</a> },
  { key: "duration_ns", title: "Duration", kind: "time", width: 100, value: (i) => i.end_ns - i.start_ns },
  { key: "bound_ns", title: "Bound", kind: "time", width: 84, optional: true, help: "How far off it may be.", value: (i) => i.bound_ns },
  { key: "index", title: "Row", kind: "count", width: 84, help: "In the trace's table; the link opens its record.", value: (i) => i.index,
    cell: (i) => <a class="value" {...linkProps({ event: `${i.table}/${i.index}` })} title="Open its record">{i.index}</a> },
];
