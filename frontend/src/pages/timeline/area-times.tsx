// The selected interval by operator, stream and runtime call.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { AreaCall, AreaOperator, AreaStream, AreaTimes } from "../../api/types";
import { count, duration } from "../../lib/format";
import { linkProps } from "../../state/links";
import { useView } from "../../state/use-result";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { derived, field, worded, type Column } from "../../widgets/table/columns";
import { trackId } from "../../widgets/timeline/track-layout";
import { Show } from "../shared/load-states";
import { AreaTable } from "./area-table";
import type { AreaTabProps } from "./area-props";
import { itemText } from "./details-panel";

const texts = t.timelineArea;
const { columns: heads } = texts;

type TimesProps = AreaTabProps & { children: (times: AreaTimes, length: number) => ComponentChildren };

/** All tables are one answer, which is there when one changes from one to another. */
export function Times({ lane, options, children }: TimesProps) {
  const resource = useView("area_times", lane.selected, options, null);
  return <Show resource={resource}>{(times) => children(times, times.stop_ns - times.start_ns)}</Show>;
}

/** How many rows there are, where not all came. */
export function Rest({ rows, all }: { rows: number; all: number }) {
  return rows < all ? <p class="muted">{texts.rest(count(rows), count(all))}</p> : null;
}

/** A share of the selection's length, with a bar. */
function shareOf<Row>(
  length: number,
  ns: (row: Row) => number | null,
  bound: (row: Row) => number | null,
  bar: "kernel" | "cpu" | "runtime",
): Column<Row> {
  const share = (value: number | null): number | null =>
    value === null ? null : length > 0 ? value / length : 0;
  return derived("share", heads.ofSelection, "share", 110, (row) => share(ns(row)), {
    bound: (row) => share(bound(row)),
    bar: () => bar,
  });
}

export function AreaOperators(props: AreaTabProps) {
  return (
    <Times {...props}>
      {(times, length) => (
        <>
          <Rest rows={times.operators.length} all={times.operators_count} />
          <Operators times={times} length={length} />
        </>
      )}
    </Times>
  );
}

function Operators({ times, length }: { times: AreaTimes; length: number }) {
  const columns = useMemo(() => operatorColumns(length, times.device_ns !== null), [length, times]);
  return (
    <AreaTable
      name="area-operators"
      noun={texts.nouns.operators[0] ?? ""}
      nouns={texts.nouns.operators[1] ?? ""}
      columns={columns}
      rows={times.operators}
      rowKey={(r) => `${r.annotation ? "annotation" : "operator"} ${r.name ?? ""}`}
      defaultSort={times.device_ns === null ? "-self_ns" : "-device_ns"}
      onOpen={(r) => {
        if (r.name !== null) go({ find: r.name }, "replace");
      }}
    />
  );
}

const operatorColumns = (length: number, onDevice: boolean): readonly Column<AreaOperator>[] => [
  worded("name", heads.operator, 280, (r) => r.name ?? texts.noOperator),
  derived(
    "kind",
    heads.kind,
    "text",
    80,
    (r) => (r.annotation ? texts.kinds.annotation : texts.kinds.operator),
    { code: (r) => (r.annotation ? "annotation" : "operator") },
  ),
  field("self_ns", heads.self, "time", 84, { additive: true }),
  field("device_ns", heads.device, "time", 84, { bound: (r) => r.device_bound_ns, additive: true }),
  onDevice
    ? shareOf(
        length,
        (r) => r.device_ns,
        (r) => r.device_bound_ns,
        "kernel",
      )
    : shareOf(
        length,
        (r) => r.self_ns,
        () => 0,
        "cpu",
      ),
  field("calls", heads.calls, "count", 72),
  field("activities", heads.activities, "count", 76),
];

export function AreaStreams(props: AreaTabProps) {
  const { at, choose } = props;
  return (
    <Times {...props}>
      {(times, length) => (
        <>
          <Rest rows={times.streams.length} all={times.streams_count} />
          <Streams times={times} length={length} open={(track) => choose([trackId(at, track)])} />
        </>
      )}
    </Times>
  );
}

interface StreamsProps {
  times: AreaTimes;
  length: number;
  open: (track: number) => void;
}

function Streams({ times, length, open }: StreamsProps) {
  const columns = useMemo(() => streamColumns(length), [length]);
  return (
    <AreaTable
      name="area-streams"
      noun={texts.nouns.streams[0] ?? ""}
      nouns={texts.nouns.streams[1] ?? ""}
      columns={columns}
      rows={times.streams}
      rowKey={(r) => `${r.device} ${r.stream} ${r.track}`}
      defaultSort="-busy_ns"
      onOpen={(r) => {
        if (r.track >= 0) open(r.track);
      }}
    />
  );
}

const streamColumns = (length: number): readonly Column<AreaStream>[] => [
  field("stream", heads.stream, "text", 220),
  field("device", heads.place, "text", 120),
  field("busy_ns", heads.busy, "time", 84, { bound: (r) => r.busy_bound_ns }),
  shareOf(
    length,
    (r) => r.busy_ns,
    (r) => r.busy_bound_ns,
    "kernel",
  ),
  field("activities", heads.activities, "count", 84),
];

export function AreaCalls(props: AreaTabProps) {
  const { lane, at } = props;
  return (
    <Times {...props}>
      {(times, length) => (
        <>
          <Rest rows={times.calls.length} all={times.calls_count} />
          <Calls times={times} length={length} rank={at === 0 ? null : lane.rank} />
        </>
      )}
    </Times>
  );
}

interface CallsProps {
  times: AreaTimes;
  length: number;
  /** Null for the selected one. */
  rank: number | null;
}

function Calls({ times, length, rank }: CallsProps) {
  const columns = useMemo(() => callColumns(length, rank), [length, rank]);
  return (
    <AreaTable
      name="area-calls"
      noun={texts.nouns.calls[0] ?? ""}
      nouns={texts.nouns.calls[1] ?? ""}
      columns={columns}
      rows={times.calls}
      rowKey={(r) => r.name}
      defaultSort="-inside_ns"
      onOpen={(r) => go({ find: r.name }, "replace")}
    />
  );
}

const callColumns = (length: number, rank: number | null): readonly Column<AreaCall>[] => [
  field("name", heads.call, "text", 240),
  derived("waits", heads.waits, "text", 60, (r) => (r.waits ? texts.yes : texts.no), {
    code: (r) => (r.waits ? "yes" : "no"),
  }),
  field("inside_ns", heads.inside, "time", 84, { additive: true }),
  shareOf(
    length,
    (r) => r.inside_ns,
    () => 0,
    "runtime",
  ),
  field("calls", heads.calls, "count", 72, { additive: true }),
  field("mean_ns", heads.mean, "time", 84),
  field("max_ns", heads.max, "time", 84, {
    cell: (r) => (
      <a
        {...linkProps({
          item: itemText({ table: "launches", index: r.longest, rank }),
          area: null,
          range: null,
        })}
      >
        {duration(r.max_ns)}
      </a>
    ),
  }),
  field("launched", heads.launched, "count", 84, { additive: true }),
];
