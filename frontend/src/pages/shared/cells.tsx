// Cells that the tables of several pages have.
import { t } from "../../i18n";
import { count } from "../../lib/format";
import { ownFrame } from "../../lib/python-stack";
import { linkProps, toOperator } from "../../state/links";

/** The innermost frame of the user's own code; the whole stack is its tooltip, or why there is none. */
export function StackCell({ stack, none }: { stack: string | null; none: string }) {
  return (
    <span class="value" title={stack?.replaceAll(";", "\n") ?? none}>
      {ownFrame(stack)?.replace(/^.*\//, "") ?? "–"}
    </span>
  );
}

/** An operator, as a link to its row; `none` says why there is none. */
export function OperatorCell({ name, none }: { name: string | null; none?: string }) {
  if (name === null)
    return (
      <span class="value muted" title={none}>
        –
      </span>
    );
  return (
    <a class="value" {...toOperator(name)} title={t.kernels.toOperator(name)}>
      {name}
    </a>
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
