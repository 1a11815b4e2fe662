// The inspector of the event that the URL names, on whatever page: `kernels/3`, or of another rank
// `kernels/3@7`.
import type { EventRecord, Item } from "../../../api/types";
import { duration, exactDuration } from "../../../lib/format";
import { linkProps } from "../../../state/links";
import { withRank, type Selected } from "../../../state/selection";
import { useEventRecord, useView } from "../../../state/use-result";
import { t } from "../../../i18n";
import { Fact } from "../finding-parts";
import { Show } from "../load-states";
import { Event, EventName } from "./event";
import { timelineOf } from "./event-links";
import { ofRank, toEvent } from "./jumps";
import { RecordText } from "./raw-record";

const { facts } = t.inspector;

const RANGES: ReadonlySet<string> = new Set<Item["table"]>([
  "ops",
  "launches",
  "frames",
  "kernels",
  "steps",
  "device_annotations",
]);

interface OpenProps {
  selected: Selected;
  /** `kernels/3`, with `@7` of another rank. */
  event: string;
}

export function OpenEvent({ selected, event }: OpenProps) {
  const [name = "", text] = event.split("@");
  const [table = "", row = ""] = name.split("/");
  const rank = text === undefined ? null : Number(text);
  const of = rank === null ? selected : withRank(selected, rank);
  if (RANGES.has(table) && /^\d+$/.test(row))
    return <Range selected={of} table={table as Item["table"]} index={Number(row)} rank={rank} />;
  return <Point selected={of} name={name} rank={rank} />;
}

interface RangeProps {
  selected: Selected;
  table: Item["table"];
  index: number;
  rank: number | null;
}

/** What takes time. */
function Range({ selected, table, index, rank }: RangeProps) {
  const resource = useView("links", selected, { table, index }, null);
  return (
    <Show resource={resource}>
      {(links) => (
        <>
          <EventName links={links} name="record" />
          <Event
            {...{ links, selected }}
            of={rank === null ? {} : { rank, span: selected.place.span }}
            way={toEvent(rank)}
            toTimeline={links.item.track < 0 ? null : timelineOf(links, rank)}
          />
        </>
      )}
    </Show>
  );
}

/** A memory event; of what no table has, the server says so. */
function Point({ selected, name, rank }: { selected: Selected; name: string; rank: number | null }) {
  const resource = useEventRecord(selected, name);
  return (
    <Show resource={resource}>
      {(event) => (
        <>
          <h2 class="wrap" data-testid="record-name">
            {event.name}
          </h2>
          <PointFacts event={event} rank={rank} />
          <RecordText event={event} operator={null} />
        </>
      )}
    </Show>
  );
}

function PointFacts({ event, rank }: { event: EventRecord; rank: number | null }) {
  const { operator, thread, start_ns: start, step } = event;
  return (
    <dl class="facts">
      <Fact id="start" name={facts.start} title={exactDuration(start)}>
        {duration(start)}
      </Fact>
      <Fact id="thread" name={facts.thread}>
        {thread}
      </Fact>
      {step !== null && (
        <Fact id="step" name={facts.step}>
          {step}
        </Fact>
      )}
      {operator && (
        <Fact id="operator" name={facts.parent}>
          <a {...linkProps({ event: `${operator.table}/${operator.row}${ofRank(rank)}` })}>{operator.name}</a>
        </Fact>
      )}
    </dl>
  );
}
