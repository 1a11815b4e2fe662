// The inspector of a row of the kernel or operator table: its figures and the calls behind it.
import type { ComponentChildren } from "preact";
import { go, state } from "../../../state/url";
import { t } from "../../../i18n";
import { Inspector } from "../../../widgets/inspector/inspector";
import { Calls, type Asked, type CallsProps } from "./calls";

interface RowInspectorProps extends Omit<CallsProps, "of"> {
  /** Null of a row without calls of its own. */
  of: Asked | null;
  /** As its compiler wrote it. */
  full?: string;
  calls: number;
  /** What the table has of the row: rates, links to other pages. */
  children?: ComponentChildren;
}

const texts = t.instancesPanel;

export function RowInspector({ of, full, calls, children, ...props }: RowInspectorProps) {
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
      {children}
      {of && <Calls {...props} of={of} />}
    </Inspector>
  );
}
