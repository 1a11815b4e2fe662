// Links from one event to those that hang together with it.
import { useState } from "preact/hooks";
import type { Item } from "../../../api/types";
import { count, duration, exactDuration } from "../../../lib/format";
import { fullName } from "../../../lib/full-name";
import { linkProps, type LinkProps } from "../../../state/links";
import { t } from "../../../i18n";
import "./jumps.css";

const texts = t.inspector;

/** Where the link to an event leads. */
export type Way = (item: Item) => LinkProps;

/** To the inspector of that event, on the page that is shown. */
export const toEvent =
  (rank: number | null): Way =>
  ({ table, index }) =>
    linkProps({ event: `${table}/${index}${ofRank(rank)}` });

/** What tells the rank in a link, if it is not the selected one. */
export const ofRank = (rank: number | null): string => (rank === null ? "" : `@${rank}`);

interface JumpProps {
  item: Item;
  way: Way;
  testid: string;
}

export function Jump({ item, way, testid }: JumpProps) {
  return (
    <a
      {...way(item)}
      class="event-jump"
      data-testid={testid}
      data-index={item.index}
      title={`${fullName(item)}\n${exactDuration(item.end_ns - item.start_ns)}`}
    >
      {item.name}
    </a>
  );
}

const FEW = 6;

interface JumpsProps extends Omit<JumpProps, "item"> {
  items: readonly Item[];
  /** How many there are; `items` are the first. */
  total?: number;
}

export function Jumps({ items, total = items.length, way, testid }: JumpsProps) {
  const [all, setAll] = useState(false);
  return (
    <ul class="event-jumps">
      {items.slice(0, all ? items.length : FEW).map((one) => (
        <li key={`${one.table}${one.index}`}>
          <Jump item={one} way={way} testid={testid} />{" "}
          <span class="muted number">{duration(one.end_ns - one.start_ns)}</span>
        </li>
      ))}
      {items.length > FEW && (
        <li>
          <button type="button" class="quiet" onClick={() => setAll(!all)}>
            {all ? texts.fewer : texts.more(count(total - FEW))}
          </button>
          {all && items.length < total && (
            <span class="muted" data-testid={`${testid}-listed`}>
              {" "}
              {texts.nodeOf(items.length, total)}
            </span>
          )}
        </li>
      )}
    </ul>
  );
}
