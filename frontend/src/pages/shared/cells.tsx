// Cells that the tables of several pages have.
import { count } from "../../lib/format";
import { ownFrame } from "../../lib/python-stack";
import { linkProps } from "../../state/links";

/** The innermost frame of the user's own code; the whole stack is its tooltip, or why there is none. */
export function StackCell({ stack, none }: { stack: string | null; none: string }) {
  return (
    <span class="value" title={stack?.replaceAll(";", "\n") ?? none}>
      {ownFrame(stack)?.replace(/^.*\//, "") ?? "–"}
    </span>
  );
}

/** How many calls a row has, as a link that selects it and opens the panel of its calls. */
export function CallsCell({ calls, selected, title }: { calls: number; selected: string; title: string }) {
  return (
    <a class="value" data-testid="drill" {...linkProps({ selected })} title={title}>
      {count(calls)}
    </a>
  );
}
