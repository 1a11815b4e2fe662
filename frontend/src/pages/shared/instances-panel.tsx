// The instances behind a row of the kernel or operator table: durations and places.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Instances, Item, Options } from "../../api/types";
import { color, type Category } from "../../lib/color";
import { useView } from "../../state/use-result";
import type { Selected } from "../../state/selection";
import { duration, exactDuration } from "../../lib/format";
import { t } from "../../i18n";
import { field, type Column } from "../../widgets/table/columns";
import { useReturnFocus } from "../../widgets/controls/return-focus";
import { Histogram } from "../../widgets/charts/histogram";
import { BottomPanel } from "../../widgets/controls/bottom-panel";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { linkProps } from "../../state/links";
import { Show } from "./load-states";
import { ShortSourceLink } from "./source-link";

interface InstancesPanelProps {
  selected: Selected;
  of: Asked;
  name: string;
  /** As its compiler wrote it. */
  full?: string;
  calls: number;
  category: Category;
  /** The row of the selected step among the trace's steps; null for all. */
  step: number | null;
  inferred: boolean;
  close: () => void;
  /** Links to other pages. */
  children?: ComponentChildren;
}

/** Which lookup tells, of which table's row. */
export type Asked =
  | { view: "instances"; index: number; group: NonNullable<Options["instances"]["group"]> }
  | { view: "calls"; index: number; group: NonNullable<Options["calls"]["group"]> };

const texts = t.instancesPanel;

type Order = NonNullable<Options["instances"]["order"]>;

const MOST = 1000;

export function InstancesPanel({
  selected,
  of: { view, ...asked },
  name,
  full,
  calls,
  category,
  step,
  inferred,
  close,
  children,
}: InstancesPanelProps) {
  const [order, setOrder] = useState<Order>("duration");
  useReturnFocus();
  const resource = useView<"instances" | "calls">(
    view,
    selected,
    { ...asked, order, limit: MOST, ...(step !== null && { step }) },
    null,
  );
  return (
    <BottomPanel
      class="instances"
      testid="instances"
      value={calls}
      label={view === "calls" ? texts.callsOf(name) : texts.activitiesOf(name)}
      close={close}
    >
      <div class="toolbar">
        <h2 title={full ?? name}>{name}</h2>
        <OrderChoice order={order} setOrder={setOrder} />
        {children}
        <button type="button" class="quiet push" data-testid="instances-close" onClick={close}>
          {texts.close}
        </button>
      </div>
      <Show resource={resource}>
        {(found) => (
          <>
            {found.typical && <Typical item={found.typical} selected={selected} />}
            <Found
              found={found}
              of={view === "calls" ? texts.call : texts.activity}
              fill={color(category)}
              name={name}
              inferred={inferred}
            />
          </>
        )}
      </Show>
    </BottomPanel>
  );
}

function OrderChoice({ order, setOrder }: { order: Order; setOrder: (order: Order) => void }) {
  return (
    <Segmented
      label={texts.order}
      value={order}
      onPick={setOrder}
      choices={[
        { value: "duration", label: texts.longest },
        { value: "time", label: texts.first },
      ]}
    />
  );
}

/** The one to look at first: the longest may be an exception. */
function Typical({ item, selected }: { item: Item; selected: Selected }) {
  const links = useView("links", selected, { table: item.table, index: item.index }, null);
  const source = links.loaded.status === "ready" ? links.loaded.value.source : null;
  const ns = item.end_ns - item.start_ns;
  return (
    <p class="typical" data-testid="typical" data-value={item.index}>
      <span class="muted">{texts.typical}</span> <b title={exactDuration(ns)}>{duration(ns)}</b>
      {source && <ShortSourceLink file={source.file} line={source.line} />}
      <a
        {...linkProps({ view: "timeline", item: `${item.table}:${item.index}` })}
        data-testid="typical-timeline"
      >
        {texts.toTimeline}
      </a>
      <a {...linkProps({ event: `${item.table}/${item.index}` })} data-testid="typical-record">
        {texts.toRecord}
      </a>
    </p>
  );
}

function Found({
  found,
  of: { noun, nouns },
  fill,
  name,
  inferred,
}: {
  found: Instances;
  of: typeof texts.call;
  fill: string;
  name: string;
  inferred: boolean;
}) {
  const [sort, setSort] = useState<string | null>(null);
  const [filter, setFilter] = useState<string | null>(null);
  const bins = useMemo(
    () => found.histogram.map((b) => ({ low: b.low_ns, high: b.high_ns, count: b.calls })),
    [found],
  );
  return (
    <div class="split">
      <Table
        name="instances"
        noun={noun}
        nouns={nouns}
        columns={COLUMNS}
        rows={found.items}
        rowKey={(i) => String(i.index)}
        sort={sort}
        defaultSort=""
        filter={filter}
        onSort={setSort}
        onFilter={setFilter}
        inferred={inferred}
      >
        {found.items.length < found.calls && <span class="muted">{texts.ofCalls(found.calls)}</span>}
      </Table>
      <Histogram name="durations" title={texts.durationsOf(name)} bins={bins} fill={fill} />
    </div>
  );
}

const COLUMNS: readonly Column<Item>[] = [
  field("start_ns", texts.columns.start, "time", 140, {
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
  {
    key: "duration_ns",
    ...texts.columns.duration,
    kind: "time",
    width: 100,
    value: (i) => i.end_ns - i.start_ns,
  },
  field("bound_ns", texts.columns.bound, "time", 84, { optional: true }),
  field("index", texts.columns.row, "count", 84, {
    cell: (i) => (
      <a class="value" {...linkProps({ event: `${i.table}/${i.index}` })} title={texts.toRecord}>
        {i.index}
      </a>
    ),
  }),
];
