// One event with all that the file has of it: text in a dialog, never markup.
import type { EventRecord, Link } from "../api";
import { lookOf } from "../base/color";
import { boundOf, duration, exactDuration } from "../base/format";
import { useEvent } from "../load";
import type { Selected } from "../place";
import { go, state } from "../state";
import { Code } from "../widgets/code";
import { Modal } from "../widgets/modal";
import { linkProps } from "./link";
import { Show } from "./status";

/** Open while the URL names an event. */
export function RecordDialog({ selected }: { selected: Selected }) {
  const name = state.value.event;
  return name === null ? null : <Dialog selected={selected} name={name} />;
}

const close = (): void => go({ event: null });

function Dialog({ selected, name }: { selected: Selected; name: string }) {
  const resource = useEvent(selected, name);
  return (
    <Modal class="record" testid="record" event={name} label="One event" close={close}>
      <div class="inner">
        <button type="button" class="quiet close" onClick={close} data-testid="record-close" title="Close (Esc)">Close</button>
        <Show resource={resource}>{(event) => <Record event={event} />}</Show>
      </div>
    </Modal>
  );
}

const NAMES: Readonly<Record<EventRecord["table"], string>> = {
  ops: "operator or annotation", frames: "Python frame", launches: "launch", kernels: "device activity", memory: "memory event",
};

function Record({ event }: { event: EventRecord }) {
  const { record, cut } = event;
  const inferred = event.evidence !== null && event.evidence !== "measured";
  return (
    <>
      <h2 data-testid="record-name">{event.name} <small class="muted">{NAMES[event.table]}, row {event.row} of {event.table}</small></h2>
      <dl class="facts">
        <Fact name="Where">{event.thread}</Fact>
        <Time name="Start" ns={event.start_ns} bound={event.start_bound_ns} inferred={inferred} />
        <Time name="Duration" ns={event.duration_ns} bound={event.duration_bound_ns} inferred={inferred} />
        <Time name="Self" ns={event.self_ns} />
        <Time name="Elapsed on the device" ns={event.elapsed_ns} />
        {event.step !== null && <Fact name="Step">{event.step}</Fact>}
        <Other name="Operator" link={event.operator} />
        <Other name="Launch" link={event.launch} />
        <Other name="Inside of" link={event.parent} />
        {event.evidence !== null && <Fact name="Evidence"><i class={`swatch ${lookOf(event.evidence)}`} style={{ "--fill": "var(--kernel)" }} />{inferred && "inferred: "}{event.evidence.replace("_", " ")} {inferred && <a {...linkProps({ view: "method" })}>How it is known</a>}</Fact>}
      </dl>
      {event.table !== "memory" && <p><a {...linkProps({ view: "timeline", item: `${event.table}:${event.row}` })} data-testid="show-on-timeline">Show on the timeline</a></p>}
      <h2>Record <small class="muted">as it is in {event.file}</small></h2>
      {record === null
        ? <p class="muted" data-testid="no-record">This activity was inferred: no file tells of it. What it was inferred from is its operator{event.operator && <>, <a {...linkProps({ event: key(event.operator) })}>{event.operator.name}</a></>}.</p>
        : <Code text={record} />}
      {cut && <p class="warn">The record is longer: this is its beginning.</p>}
    </>
  );
}

const key = (link: Link): string => `${link.table}/${link.row}`;

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return <div data-key={name}><dt>{name}</dt><dd>{children}</dd></div>;
}

function Time({ name, ns, bound = null, inferred = false }: { name: string; ns: number | null; bound?: number | null; inferred?: boolean }) {
  if (ns === null) return null;
  return <Fact name={name}><span title={exactDuration(ns)}>{duration(ns)}</span> <span class="muted">{boundOf(bound, inferred)}</span></Fact>;
}

function Other({ name, link }: { name: string; link: Link | null }) {
  return link && <Fact name={name}><a {...linkProps({ event: key(link) })}>{link.name}</a></Fact>;
}
