// Links from one page to another.
import { quote } from "../lib/filter";
import { around } from "../widgets/timeline/camera";
import { go, linkTo, state, type State } from "./url";

export interface LinkProps {
  /** Absent where a link leads nowhere: such an `<a>` is plain text. */
  href?: string;
  onClick?: (event: MouseEvent) => void;
}

/** What links do in a document without pages; null of a link that leads nowhere. */
type Way = (changes: Partial<State>) => LinkProps | null;
let way: Way | null = null;

/** Has all links lead where a document without pages says; called once. */
export function leadLinks(to: Way): void {
  way = to;
}

/** Whether this is a document of its own, which the reader's machine may know nothing of. */
export const isAlone = (): boolean => way !== null;

/** A plain click stays in the page, and does no more than go there unless `act` is given; one with a
 * modifier opens the link as links do. */
export function linkProps(changes: Partial<State>, act = (): void => go(changes)): LinkProps {
  if (way) return way(changes) ?? {};
  const onClick = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  return { href: linkTo(changes), onClick };
}

/** A link to the operator of that name. */
export const toOperator = (name: string): LinkProps =>
  linkProps({ view: "operators", filter: `name = ${quote(name)}` });

/** A link to the kernels that an operator launched. */
export const toKernels = (operator: string): LinkProps =>
  linkProps({ view: "kernels", filter: `operator = ${quote(operator)}` });

/** Another rank, of the span and the step that are selected. */
export const ofRank = (rank: number): Partial<State> => ({
  rank,
  span: state.value.span,
  step: state.value.step,
  window: state.value.window,
});

/** To an interval on the timeline, with some of what is around it; `end` is the recording's. */
export function toInterval(
  start: number,
  stop: number,
  end: number,
  changes: Partial<State> = {},
): LinkProps {
  const window = around(start, stop, { start: 0, stop: end });
  return linkProps({
    view: "timeline",
    range: `${Math.floor(window.start)}..${Math.ceil(window.stop)}`,
    ...changes,
  });
}
