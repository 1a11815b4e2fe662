// The record of one event, exactly as the file has it: text in a dialog, never markup.
import type { EventRecord, Link } from "../api/types";
import { lookOf } from "../lib/color";
import { boundOf, duration, exactDuration } from "../lib/format";
import { useEventRecord } from "../state/use-result";
import { withRank, type Selected } from "../state/selection";
import { go, state } from "../state/url";
import { t } from "../i18n";
import { CodeBlock } from "../widgets/controls/code-block";
import { Modal } from "../widgets/controls/modal";
import { linkProps } from "../state/links";
import { Show } from "../pages/shared/load-states";

const texts = t.eventRecord;
type Of = keyof typeof texts.facts;

/** Open while the URL names an event: `kernels/3`, or of another rank `kernels/3@7`. */
export function RecordDialog({ selected }: { selected: Selected }) {
  const open = state.value.event;
  if (open === null) return null;
  const [name = "", rank] = open.split("@");
  return (
    <Dialog
      selected={rank === undefined ? selected : withRank(selected, Number(rank))}
      name={name}
      of={rank === undefined ? "" : `@${rank}`}
    />
  );
}

const close = (): void => go({ event: null });

function Dialog({ selected, name, of }: { selected: Selected; name: string; of: string }) {
  const resource = useEventRecord(selected, name);
  return (
    <Modal class="record" testid="record" event={name} label={texts.oneEvent} close={close}>
      <div class="inner">
        <button
          type="button"
          class="quiet close"
          onClick={close}
          data-testid="record-close"
          title={texts.closeHelp}
        >
          {texts.close}
        </button>
        <Show resource={resource}>{(event) => <Record event={event} of={of} />}</Show>
      </div>
    </Modal>
  );
}

/** `of`: what tells the rank in links, if it is not the selected one. */
function Record({ event, of }: { event: EventRecord; of: string }) {
  const { record, cut } = event;
  const inferred = event.evidence !== null && event.evidence !== "measured";
  return (
    <>
      <h2 data-testid="record-name">
        {event.name} <small class="muted">{texts.where(event.table, event.row)}</small>
      </h2>
      <dl class="facts">
        <Fact of="thread">{event.thread}</Fact>
        <Time of="start" ns={event.start_ns} bound={event.start_bound_ns} inferred={inferred} />
        {inferred && event.shift_bound_ns !== null && event.shift_bound_ns > 0 && (
          <Fact of="shift">{boundOf(event.shift_bound_ns, true)}</Fact>
        )}
        <Time of="duration" ns={event.duration_ns} bound={event.duration_bound_ns} inferred={inferred} />
        <Time of="self" ns={event.self_ns} />
        <Time of="elapsed" ns={event.elapsed_ns} />
        {event.step !== null && <Fact of="step">{event.step}</Fact>}
        <Other of="operator" link={event.operator} rank={of} />
        <Other of="launch" link={event.launch} rank={of} />
        <Other of="parent" link={event.parent} rank={of} />
        {event.evidence !== null && (
          <Fact of="evidence">
            <i class={`swatch ${lookOf(event.evidence)}`} style={{ "--fill": "var(--kernel)" }} />
            {inferred
              ? texts.inferred(t.timelineSource.evidence[event.evidence].label)
              : t.timelineSource.evidence[event.evidence].label}{" "}
            {inferred && <a {...linkProps({ view: "recording", section: "method" })}>{texts.howKnown}</a>}
          </Fact>
        )}
      </dl>
      {event.table !== "memory" && (
        <p>
          <a
            {...linkProps({ view: "timeline", item: `${event.table}:${event.row}${of}` })}
            data-testid="show-on-timeline"
          >
            {texts.toTimeline}
          </a>
        </p>
      )}
      <h2>
        {texts.record} <small class="muted">{texts.asIn(event.file)}</small>
      </h2>
      {record === null ? (
        <p class="muted" data-testid="no-record">
          {texts.noRecord(
            event.operator && (
              <a {...linkProps({ event: key(event.operator) + of })}>{event.operator.name}</a>
            ),
          )}
        </p>
      ) : (
        <CodeBlock text={record} />
      )}
      {cut && <p class="warn">{texts.cut}</p>}
    </>
  );
}

const key = (link: Link): string => `${link.table}/${link.row}`;

function Fact({ of, children }: { of: Of; children: preact.ComponentChildren }) {
  return (
    <div data-key={of}>
      <dt>{texts.facts[of]}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Time({
  of,
  ns,
  bound = null,
  inferred = false,
}: {
  of: Of;
  ns: number | null;
  bound?: number | null;
  inferred?: boolean;
}) {
  if (ns === null) return null;
  return (
    <Fact of={of}>
      <span title={exactDuration(ns)}>{duration(ns)}</span>{" "}
      <span class="muted">{boundOf(bound, inferred)}</span>
    </Fact>
  );
}

function Other({ of, link, rank }: { of: Of; link: Link | null; rank: string }) {
  return (
    link && (
      <Fact of={of}>
        <a {...linkProps({ event: key(link) + rank })}>{link.name}</a>
      </Fact>
    )
  );
}
