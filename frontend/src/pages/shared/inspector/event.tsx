// All that is known of one event, wherever it is selected.
import type { Item, Links } from "../../../api/types";
import { isAlone, type LinkProps } from "../../../state/links";
import type { Selected } from "../../../state/selection";
import type { State } from "../../../state/url";
import { t } from "../../../i18n";
import { Section } from "../../../widgets/inspector/section";
import { EventFacts } from "./event-facts";
import { isLinked, LinkedEvents, Places } from "./event-links";
import { Jump, Jumps, type Way } from "./jumps";
import { Namesakes } from "./namesakes";
import { RecordPart } from "./raw-record";
import { Stack } from "./stack";
import { TryIt } from "../try-it";
import { WorkFacts } from "./work-facts";

const texts = t.inspector;
const NONE = {};

export interface EventProps {
  links: Links;
  /** The trace that has it. */
  selected: Selected;
  /** What leads to that trace from the selected one. */
  of?: Partial<State>;
  /** To be added to its times. */
  shift?: number;
  way: Way;
  toTimeline: LinkProps | null;
  /** Of a row of a table, the others are in the table. */
  one?: boolean;
}

/** What an event is: its table, and the rank if that is another one. */
export function kindOf(table: keyof typeof texts.tables | null, rank: number | null, annotation = false) {
  const kind = annotation ? texts.annotation : table === null ? texts.event : texts.tables[table];
  return texts.kindOf(kind, rank);
}

/** The name, in full where it is shortened. `name` begins the names for tests. */
export function EventName({ links: { item }, name }: { links: Links; name: string }) {
  return (
    <>
      <h2 class="wrap" data-testid={`${name}-name`}>
        {item.name}
      </h2>
      {item.full_name !== null && (
        <p class="wrap muted small full" data-testid={`${name}-full-name`}>
          {item.full_name}
        </p>
      )}
    </>
  );
}

export function Event({ links, selected, of = NONE, shift = 0, way, toTimeline, one = false }: EventProps) {
  const { item } = links;
  return (
    <>
      <Places {...{ links, of, toTimeline, one }} />
      {!one && <Without item={item} selected={selected} />}
      <EventFacts links={links} shift={shift} />
      {!one && <Namesakes {...{ item, selected, way }} />}
      {(item.table === "kernels" || (links.kernels_count ?? 0) > 0) && (
        <WorkFacts item={item} selected={selected} />
      )}
      {isLinked(links) && (
        <Section name="linked" title={texts.parts.linked}>
          <LinkedEvents links={links} way={way} />
        </Section>
      )}
      <Captured links={links} />
      <Frames links={links} way={way} />
      {item.table !== "steps" && (
        <RecordPart
          selected={selected}
          event={`${item.table}/${item.index}`}
          operator={links.operator && <Jump item={links.operator} way={way} testid="record-operator" />}
        />
      )}
    </>
  );
}

const CHANGED: Readonly<Partial<Record<Item["table"], string>>> = {
  ops: "operator",
  kernels: "kernel",
  launches: "call",
  frames: "function",
};

/** The step without all events of that name. */
function Without({ item, selected }: { item: Item; selected: Selected }) {
  const kind = CHANGED[item.table];
  if (kind === undefined || isAlone()) return null;
  const change = `${kind}:${item.full_name ?? item.name}=0`;
  return (
    <p>
      <TryIt selected={selected} change={change} label={t.tryIt.without} />
    </p>
  );
}

/** Of a graph's replay, where the graph was made. */
function Captured({ links: { captured } }: { links: Links }) {
  if (captured === null) return null;
  return (
    <Section name="captured" title={texts.parts.captured}>
      <div data-testid="captured">
        {[captured.operator, captured.module].filter(Boolean).join(" · ")}
        {captured.stack && <Stack frames={captured.stack.split(";")} />}
      </div>
    </Section>
  );
}

function Frames({ links: { frames, stack }, way }: { links: Links; way: Way }) {
  if (frames.length === 0 && !stack) return null;
  return (
    <Section name="frames" title={texts.parts.frames}>
      {frames.length > 0 ? (
        <Jumps items={frames} way={way} testid="to-frame" />
      ) : (
        <Stack frames={(stack ?? "").split(";")} />
      )}
    </Section>
  );
}
