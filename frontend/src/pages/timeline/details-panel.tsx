// Details of the selected range, with links to its launch, operator, source and counterparts.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Item, Links } from "../../api/types";
import { lookOf } from "../../lib/color";
import { trackId } from "../../widgets/timeline/track-layout";
import { bound, boundOf, count, duration, exactDuration, utc, wallClock } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import { quote } from "../../lib/filter";
import { useView, type Resource } from "../../state/use-result";
import type { Selected } from "../../state/selection";
import { t } from "../../i18n";
import { linkProps } from "../../state/links";
import { BottomPanel } from "../../widgets/controls/bottom-panel";
import type { Lane } from "./lanes";
import { SourceLink } from "../shared/source-link";
import { Show } from "../shared/load-states";

const texts = t.detailsPanel;
const { facts } = texts;
type Table = Item["table"];
const ITEM = /^(ops|launches|frames|kernels|steps|device_annotations):(\d{1,10})(?:@(-1|\d{1,9}))?$/;

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

export const itemText = ({ table, index, rank }: ItemKey): string =>
  `${table}:${index}${rank === null ? "" : `@${rank}`}`;

/** Everything that hangs together with a range; of none, nothing is asked. */
export function useLinks(selected: Selected, item: ItemKey | null): Resource<Links> {
  return useView("links", selected, item && { table: item.table, index: item.index }, null);
}

interface DetailsProps {
  links: Resource<Links>;
  /** Null for the selected one, else another one of the same span. */
  rank: number | null;
  span: number;
  /** To be added to its times. */
  shift: number;
  show: ShowItem;
  close: () => void;
}

export function DetailsPanel({ links, close, ...of }: DetailsProps) {
  return (
    <BottomPanel class="timepanel" testid="timeline-details">
      <button
        type="button"
        class="quiet push"
        aria-label={texts.close}
        title={texts.closeHelp}
        onClick={close}
      >
        ✕
      </button>
      <Show resource={links}>{(value) => <Of links={value} {...of} />}</Show>
    </BottomPanel>
  );
}

function Of({ links, ...props }: ItemProps) {
  const { show } = props;
  return (
    <div class="details">
      <h2 class="wrap" data-testid="details-name">
        {links.item.name}
      </h2>
      {links.item.full_name !== null && (
        <p class="wrap muted" data-testid="details-full-name">
          {links.item.full_name}
        </p>
      )}
      <div class="columns equal">
        <ItemFacts links={links} {...props} />
        <LinkedItems links={links} {...props} />
        {links.captured && (
          <dl class="facts" data-testid="captured">
            <Fact label={facts.captured}>
              {[links.captured.operator, links.captured.module].filter(Boolean).join(" · ")}
              {links.captured.stack && <pre class="wrap">{links.captured.stack.split(";").join("\n")}</pre>}
            </Fact>
          </dl>
        )}
        {(links.frames.length > 0 || links.stack) && (
          <dl class="facts">
            <Fact label={facts.frames}>
              <Several items={links.frames} show={show} testid="to-frame" />
              {links.frames.length === 0 && (
                <pre class="wrap">{(links.stack ?? "").split(";").join("\n")}</pre>
              )}
            </Fact>
          </dl>
        )}
      </div>
    </div>
  );
}

type ItemProps = { links: Links } & Omit<DetailsProps, "links" | "close">;

/** What the trace has of the range itself. */
function ItemFacts({ links, rank, shift }: ItemProps) {
  const start = links.item.start_ns + shift;
  const { item } = links;
  const inferred = links.evidence !== null && links.evidence !== "measured";
  return (
    <dl class="facts">
      <Fact label={facts.what}>{texts.what(texts.tables[item.table], rank, links.place, links.step)}</Fact>
      <Fact label={facts.duration} title={exactDuration(item.end_ns - item.start_ns)}>
        <b>{duration(item.end_ns - item.start_ns)}</b>{" "}
        {inferred && (
          <span class="muted">
            {links.duration_bound_ns === null ? texts.boundNotKnown : bound(links.duration_bound_ns)}
          </span>
        )}
      </Fact>
      <Fact label={facts.start} title={exactDuration(start)}>
        {duration(start)}{" "}
        {inferred && (
          <span class="muted">{item.bound_ns === null ? texts.boundNotKnown : bound(item.bound_ns)}</span>
        )}
        {inferred && item.shift_bound_ns > 0 && (
          <div class="muted">{texts.allStarts(bound(item.shift_bound_ns))}</div>
        )}
      </Fact>
      {links.unix_us !== null && (
        <Fact label={facts.clock} title={utc(links.unix_us)}>
          <span data-testid="details-clock">{wallClock(links.unix_us)}</span>
        </Fact>
      )}
      {links.evidence && (
        <Fact label={facts.evidence}>
          {inferred ? (
            <>
              <i class={`swatch ${lookOf(links.evidence)}`} style={{ "--fill": "var(--kernel)" }} />
              {texts.inferred(t.timelineSource.evidence[links.evidence].label)}
            </>
          ) : (
            t.timelineSource.evidence.measured.label
          )}
        </Fact>
      )}
      <OperatorFacts links={links} />
    </dl>
  );
}

/** What is known of operators and activities only. */
function OperatorFacts({ links }: { links: Links }) {
  return (
    <>
      {links.self_ns !== null && (
        <Fact label={facts.self} title={exactDuration(links.self_ns)}>
          {duration(links.self_ns)}
        </Fact>
      )}
      {links.elapsed_ns !== null && (
        <Fact label={facts.elapsed} title={exactDuration(links.elapsed_ns)}>
          {texts.onDevice(duration(links.elapsed_ns))}
        </Fact>
      )}
      {links.shapes && (
        <Fact label={facts.shapes}>
          <code>{links.shapes}</code>
        </Fact>
      )}
      {links.dtypes && (
        <Fact label={facts.dtypes}>
          <code>{links.dtypes}</code>
        </Fact>
      )}
      {links.source && (
        <Fact label={facts.source}>
          <SourceLink file={links.source.file} line={links.source.line} />
          {links.source_forward && <div class="muted">{texts.ofForward}</div>}
        </Fact>
      )}
    </>
  );
}

/** The ranges that it is linked with, and its places on other pages. */
function LinkedItems({ links, rank, span, show }: ItemProps) {
  const of = rank === null ? {} : { rank, span };
  const { item } = links;
  return (
    <dl class="facts">
      {links.operator && (
        <Fact label={facts.operator}>
          <Jump item={links.operator} show={show} testid="to-operator" />
        </Fact>
      )}
      {links.launch && (
        <Fact label={facts.launch}>
          <Jump item={links.launch} show={show} testid="to-launch" />{" "}
          <span class="muted">{texts.before(duration(item.start_ns - links.launch.start_ns))}</span>
        </Fact>
      )}
      {links.kernels_count !== null && links.kernels_count > 0 && (
        <Fact label={texts.launches(count(links.kernels_count))}>
          <span class="muted">
            {texts.onDeviceWithin(duration(links.kernels_ns), boundOf(links.kernels_bound_ns, true))}
          </span>
          <Several items={links.kernels} show={show} testid="to-kernel" />
        </Fact>
      )}
      {links.forward && (
        <Fact label={facts.forward}>
          <Jump item={links.forward} show={show} testid="to-forward" />
        </Fact>
      )}
      {links.backward.length > 0 && (
        <Fact label={facts.backward}>
          <Several items={links.backward} show={show} testid="to-backward" />
        </Fact>
      )}
      {links.parents.length > 0 && (
        <Fact label={facts.parents}>
          <Several items={links.parents} show={show} testid="to-parent" />
        </Fact>
      )}
      <Fact label={facts.more}>
        {inTables(links, of)}
        {item.table !== "steps" && (
          <>
            {" · "}
            <a
              {...linkProps({ event: `${item.table}/${item.index}${rank === null ? "" : `@${rank}`}` })}
              data-testid="to-record"
            >
              {texts.arguments}
            </a>
          </>
        )}
      </Fact>
    </dl>
  );
}

/** The row of the table that a range is in, and the other pages that tell of it. */
function inTables(
  { item, annotation, module, collective, memory_events: events }: Links,
  of: { rank?: number },
): ComponentChildren {
  return (
    <>
      {ownTable(item, annotation, of)}
      {module && (
        <>
          {" "}
          ·{" "}
          <a
            {...linkProps({ ...of, view: "modules", filter: `name = ${quote(module)}` })}
            data-testid="to-module"
          >
            {texts.toModule(module)}
          </a>
        </>
      )}
      {collective && (
        <>
          {" "}
          ·{" "}
          <a
            {...linkProps({
              ...of,
              view: "distributed",
              group: "collectives",
              filter: `kind = ${quote(collective)}`,
            })}
            data-testid="to-collective"
          >
            {texts.toCollectives}
          </a>
        </>
      )}
      {events > 0 && (
        <>
          {" "}
          ·{" "}
          <a
            {...linkProps({
              ...of,
              view: "memory",
              group: "allocations",
              range: `${item.start_ns}..${item.end_ns}`,
            })}
            data-testid="to-memory"
          >
            {texts.toMemory(events)}
          </a>
        </>
      )}
    </>
  );
}

/** The row of the table that it is in; without one, all ranges of this name. */
function ownTable(item: Links["item"], annotation: boolean, of: { rank?: number }): ComponentChildren {
  const filter = `name = ${quote(fullName(item))}`;
  return item.table === "kernels" ? (
    <a {...linkProps({ ...of, view: "kernels", filter })} data-testid="to-kernels">
      {texts.toKernels}
    </a>
  ) : item.table === "ops" && !annotation ? (
    <a {...linkProps({ ...of, view: "operators", filter })} data-testid="to-operators">
      {texts.toOperators}
    </a>
  ) : (
    <a {...linkProps({ find: fullName(item) })} data-testid="to-all">
      {texts.toAll}
    </a>
  );
}

function Fact({ label, title, children }: { label: string; title?: string; children: ComponentChildren }) {
  return (
    <div title={title}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Jump({ item, show, testid }: { item: Item; show: ShowItem; testid: string }) {
  return (
    <button
      type="button"
      class="link jump"
      data-testid={testid}
      data-index={item.index}
      title={`${fullName(item)}\n${exactDuration(item.end_ns - item.start_ns)}`}
      onClick={() => show(item)}
    >
      {item.name}
    </button>
  );
}

const FEW = 6;

function Several({ items, show, testid }: { items: readonly Item[]; show: ShowItem; testid: string }) {
  const [all, setAll] = useState(false);
  return (
    <ul class="jumps">
      {items.slice(0, all ? items.length : FEW).map((one) => (
        <li key={`${one.table}${one.index}`}>
          <Jump item={one} show={show} testid={testid} />{" "}
          <span class="muted number">{duration(one.end_ns - one.start_ns)}</span>
        </li>
      ))}
      {items.length > FEW && (
        <li>
          <button type="button" class="quiet" onClick={() => setAll(!all)}>
            {all ? texts.fewer : texts.more(count(items.length - FEW))}
          </button>
        </li>
      )}
    </ul>
  );
}
