// What hangs together with one event: its operator, launch and kernels, and its places on other pages.
import type { ComponentChildren } from "preact";
import type { Links } from "../../../api/types";
import { boundOf, count, duration } from "../../../lib/format";
import { fullName } from "../../../lib/full-name";
import { quote } from "../../../lib/filter";
import { linkProps, type LinkProps } from "../../../state/links";
import type { State } from "../../../state/url";
import { t } from "../../../i18n";
import { Fact } from "../finding-parts";
import { Jump, Jumps, ofRank, type Way } from "./jumps";

const texts = t.inspector;
const { facts } = texts;

interface LinkedProps {
  links: Links;
  way: Way;
}

/** Whether anything hangs together with it. */
export const isLinked = (links: Links): boolean =>
  links.operator !== null ||
  links.launch !== null ||
  (links.kernels_count ?? 0) > 0 ||
  links.forward !== null ||
  links.backward.length > 0 ||
  links.parents.length > 0;

export function LinkedEvents({ links, way }: LinkedProps) {
  const { item } = links;
  return (
    <dl class="facts">
      {links.operator && (
        <Fact id="operator" name={facts.operator}>
          <Jump item={links.operator} way={way} testid="to-operator" />
        </Fact>
      )}
      {links.launch && (
        <Fact id="launch" name={facts.launch}>
          <Jump item={links.launch} way={way} testid="to-launch" />{" "}
          <span class="muted">{texts.before(duration(item.start_ns - links.launch.start_ns))}</span>
        </Fact>
      )}
      {links.kernels_count !== null && links.kernels_count > 0 && (
        <Fact id="kernels" name={texts.launches(count(links.kernels_count))}>
          <span class="muted">
            {texts.onDeviceWithin(duration(links.kernels_ns), boundOf(links.kernels_bound_ns, true))}
          </span>
          <Jumps items={links.kernels} total={links.kernels_count} way={way} testid="to-kernel" />
        </Fact>
      )}
      {links.forward && (
        <Fact id="forward" name={facts.forward}>
          <Jump item={links.forward} way={way} testid="to-forward" />
        </Fact>
      )}
      {links.backward.length > 0 && (
        <Fact id="backward" name={facts.backward}>
          <Jumps items={links.backward} way={way} testid="to-backward" />
        </Fact>
      )}
      {links.parents.length > 0 && (
        <Fact id="parents" name={facts.parents}>
          <Jumps items={links.parents} way={way} testid="to-parent" />
        </Fact>
      )}
    </dl>
  );
}

interface PlacesProps {
  links: Links;
  of: Partial<State>;
  /** The link to its place on the timeline; null where it is shown already. */
  toTimeline: LinkProps | null;
  /** Whether its row or its name is open already. */
  one: boolean;
}

/** The pages that tell of it. */
export function Places({ links, of, toTimeline, one }: PlacesProps) {
  const { item, module, collective, memory_events: events } = links;
  return (
    <p class="ways">
      {toTimeline && (
        <a {...toTimeline} data-testid="show-on-timeline">
          {texts.toTimeline}
        </a>
      )}
      {!one && <OwnTable links={links} of={of} />}
      {module && (
        <a
          {...linkProps({ ...of, view: "modules", group: "instance", filter: `name = ${quote(module)}` })}
          data-testid="to-module"
        >
          {texts.toModule(module)}
        </a>
      )}
      {collective && (
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
      )}
      {events > 0 && (
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
      )}
    </p>
  );
}

/** The row of the table that it is in; without one, all ranges of this name on the timeline. */
function OwnTable({ links, of }: { links: Links; of: Partial<State> }): ComponentChildren {
  const { item, annotation } = links;
  const filter = `name = ${quote(fullName(item))}`;
  if (item.table === "kernels")
    return (
      <a {...linkProps({ ...of, view: "kernels", filter })} data-testid="to-kernels">
        {texts.toKernels}
      </a>
    );
  if (item.table === "ops" && !annotation)
    return (
      <a {...linkProps({ ...of, view: "operators", filter })} data-testid="to-operators">
        {texts.toOperators}
      </a>
    );
  return (
    <a {...linkProps({ ...of, view: "timeline", find: fullName(item) })} data-testid="to-all">
      {texts.toAll}
    </a>
  );
}

/** An event's place on the timeline. */
export const timelineOf = ({ item }: Links, rank: number | null): LinkProps =>
  linkProps({ view: "timeline", item: `${item.table}:${item.index}${ofRank(rank)}` });
