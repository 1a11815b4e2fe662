// What the trace has of one event itself: its times, how they are known, its arguments and its line.
import type { Links } from "../../../api/types";
import { lookOf } from "../../../lib/color";
import { bound, duration, exactDuration, timeIn, utc, wallClock } from "../../../lib/format";
import { linkProps } from "../../../state/links";
import { t } from "../../../i18n";
import { Fact } from "../finding-parts";
import { FunctionLink, SourceLink } from "../source-link";

const texts = t.inspector;
const { facts } = texts;

interface FactsProps {
  links: Links;
  /** To be added to its times. */
  shift: number;
}

export function EventFacts({ links, shift }: FactsProps) {
  const start = links.item.start_ns + shift;
  const { item } = links;
  const inferred = links.evidence !== null && links.evidence !== "measured";
  return (
    <dl class="facts">
      <Fact id="duration" name={facts.duration} title={exactDuration(item.end_ns - item.start_ns)}>
        <b>{duration(item.end_ns - item.start_ns)}</b>{" "}
        {inferred && <span class="muted">{known(links.duration_bound_ns)}</span>}
      </Fact>
      <Fact id="start" name={facts.start} title={exactDuration(start)}>
        {timeIn(start, item.end_ns - item.start_ns)}{" "}
        {inferred && <span class="muted">{known(item.bound_ns)}</span>}
      </Fact>
      {inferred && item.shift_bound_ns > 0 && (
        <Fact id="shift" name={facts.shift}>
          {bound(item.shift_bound_ns)}
        </Fact>
      )}
      {links.place && (
        <Fact id="thread" name={facts.thread}>
          {links.place}
        </Fact>
      )}
      {links.node !== null && links.nodes !== null && (
        <Fact id="node" name={facts.node} title={texts.nodeHelp}>
          {texts.nodeOf(links.node, links.nodes)}
        </Fact>
      )}
      {links.step !== null && (
        <Fact id="step" name={facts.step}>
          {links.step}
        </Fact>
      )}
      {links.unix_us !== null && (
        <Fact id="clock" name={facts.clock} title={utc(links.unix_us)}>
          <span data-testid="details-clock">{wallClock(links.unix_us)}</span>
        </Fact>
      )}
      {links.evidence && <Evidence of={links.evidence} />}
      <OperatorFacts links={links} />
    </dl>
  );
}

const known = (ns: number | null): string => (ns === null ? texts.boundNotKnown : bound(ns));

function Evidence({ of }: { of: NonNullable<Links["evidence"]> }) {
  const { label } = t.timelineSource.evidence[of];
  return (
    <Fact id="evidence" name={facts.evidence}>
      <i class={`swatch ${lookOf(of)}`} style={{ "--fill": "var(--kernel)" }} />{" "}
      {of === "measured" ? (
        label
      ) : (
        <>
          {texts.inferred(label)} ·{" "}
          <a {...linkProps({ view: "recording", section: "method" })}>{texts.howKnown}</a>
        </>
      )}
    </Fact>
  );
}

/** What is known of operators and activities only. */
function OperatorFacts({ links }: { links: Links }) {
  return (
    <>
      {links.self_ns !== null && (
        <Fact id="self" name={facts.self} title={exactDuration(links.self_ns)}>
          {duration(links.self_ns)}
        </Fact>
      )}
      {links.elapsed_ns !== null && (
        <Fact id="elapsed" name={facts.elapsed} title={exactDuration(links.elapsed_ns)}>
          {texts.onDevice(duration(links.elapsed_ns))}
        </Fact>
      )}
      {links.shapes && (
        <Fact id="shapes" name={facts.shapes}>
          <code>{links.shapes}</code>
        </Fact>
      )}
      {links.dtypes && (
        <Fact id="dtypes" name={facts.dtypes}>
          <code>{links.dtypes}</code>
        </Fact>
      )}
      {links.where && (
        <Fact id="where" name={facts.function}>
          <FunctionLink where={links.where} />{" "}
          <SourceLink file={links.where.file} line={links.where.near_line} />
          {links.where_forward && <div class="muted">{texts.ofForward}</div>}
        </Fact>
      )}
    </>
  );
}
