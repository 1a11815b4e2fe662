// The inspector of a row of the kernel or operator table: its figures and the calls behind it.
import type { ComponentChildren } from "preact";
import { linkProps } from "../../../state/links";
import { go, state, type State } from "../../../state/url";
import { t } from "../../../i18n";
import { Inspector } from "../../../widgets/inspector/inspector";
import { TryIt } from "../try-it";
import { KernelSource } from "./kernel-source";
import { Calls, type Asked, type CallsProps } from "./calls";

interface RowInspectorProps extends Omit<CallsProps, "of"> {
  /** Null of a row without calls of its own. */
  of: Asked | null;
  /** As its compiler wrote it. */
  full?: string;
  calls: number;
  /** The step without the row's calls, as in the what-if; null where it has no name. */
  change: string | null;
  /** Other drawings of the same row. */
  drawn?: readonly { key: "flame" | "roofline"; to: Partial<State> }[];
  /** What the table has of the row: rates, links to other pages. */
  children?: ComponentChildren;
}

const texts = t.instancesPanel;

export function RowInspector({ of, full, calls, change, drawn = [], children, ...props }: RowInspectorProps) {
  const { name } = props;
  const kernel = of?.view === "kernel_instances";
  return (
    <Inspector
      testid="instances"
      value={calls}
      label={kernel ? texts.activitiesOf(name) : texts.callsOf(name)}
      kind={texts.kindOf(kernel ? texts.kernel : texts.operator, calls)}
      covered={state.value.event !== null}
      close={() => go({ selected: null })}
    >
      <h2 class="wrap">{name}</h2>
      {full !== undefined && full !== name && <p class="wrap muted small full">{full}</p>}
      <p class="ways">
        {change !== null && <TryIt selected={props.selected} change={change} label={t.tryIt.without} />}
        {drawn.map(({ key, to }) => (
          <a key={key} {...linkProps(to)} data-testid={`row-${key}`}>
            {t.entries.drawings[key]}
          </a>
        ))}
      </p>
      {children}
      {kernel && <KernelSource selected={props.selected} index={of.index} />}
      {of && <Calls {...props} of={of} />}
    </Inspector>
  );
}
