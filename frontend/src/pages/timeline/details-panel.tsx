// Details of the selected range, with links to its launch, operator, source and counterparts.
import type { Item, Links } from "../../api/types";
import { trackId } from "../../widgets/timeline/track-layout";
import { useView, type Resource } from "../../state/use-result";
import type { Selected } from "../../state/selection";
import { linkProps } from "../../state/links";
import { state, type State } from "../../state/url";
import { t } from "../../i18n";
import { Inspector } from "../../widgets/inspector/inspector";
import { BASE, type Lane } from "./lanes";
import { Event, EventName, kindOf } from "../shared/inspector/event";
import { ofRank } from "../shared/inspector/jumps";
import { Show } from "../shared/load-states";

type Table = Item["table"];

export interface ItemKey {
  table: Table;
  index: number;
  /** Null for the selected rank. */
  rank: number | null;
}

export interface ItemSpot extends ItemKey {
  track: number;
  row: number;
  start: number;
  end: number;
}

export type ShowItem = (item: Item) => void;

/** Where a rank's range lies on the timeline; `at` is the rank's place there. */
export const spotOf = (item: Item, lane: Lane, at: number): ItemSpot => ({
  table: item.table,
  index: item.index,
  rank: at === 0 ? null : lane.rank,
  track: item.track < 0 ? -1 : trackId(at, item.track),
  row: item.row,
  start: item.start_ns + lane.shift,
  end: item.end_ns + lane.shift,
});

const ITEM = /^(ops|launches|frames|kernels|steps|device_annotations):(\d{1,10})(?:@(-1|\d{1,9}))?$/;

/** `kernels:12` of the URL; of another rank `kernels:12@7`, of the baseline `@-1`. */
export function parseItem(text: string | null): ItemKey | null {
  const found = ITEM.exec(text ?? "");
  return found
    ? {
        table: found[1] as Table,
        index: Number(found[2]),
        rank: found[3] === undefined ? null : Number(found[3]),
      }
    : null;
}

export const itemText = ({ table, index, rank }: ItemKey): string => `${table}:${index}${ofRank(rank)}`;

/** Loads the events that are linked to a range; sends no request without a range. */
export function useLinks(selected: Selected, item: ItemKey | null): Resource<Links> {
  return useView("links", selected, item && { table: item.table, index: item.index }, null);
}

interface DetailsProps {
  item: ItemKey;
  lane: Lane;
  links: Resource<Links>;
  show: ShowItem;
  close: () => void;
}

export function DetailsPanel({ item, lane, links, show, close }: DetailsProps) {
  const { table, rank } = item;
  const linked = links.loaded.status === "ready" ? links.loaded.value : null;
  const way = (to: Item) =>
    linkProps({ item: itemText({ table: to.table, index: to.index, rank }) }, () => show(to));
  const kind = kindOf(table, rank === BASE ? null : rank, linked?.annotation && table === "ops");
  return (
    <Inspector
      testid="timeline-details"
      label={t.inspector.event}
      kind={rank === BASE ? `${t.timelineComparison.short}: ${kind}` : kind}
      covered={state.value.event !== null}
      below
      close={close}
    >
      <Show resource={links}>
        {(value) => (
          <>
            <EventName links={value} name="details" />
            <Event
              key={itemText(item)}
              links={value}
              selected={lane.selected}
              of={placeOf(item, lane)}
              shift={lane.shift}
              way={way}
              toTimeline={null}
            />
          </>
        )}
      </Show>
    </Inspector>
  );
}

/** What leads from the selected trace to the range's own, on other pages. */
function placeOf({ rank }: ItemKey, { selected: { place } }: Lane): Partial<State> {
  if (rank === null) return {};
  return rank === BASE ? { run: place.run, rank: place.rank, span: place.span } : { rank, span: place.span };
}
