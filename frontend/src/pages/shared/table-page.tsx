// A page whose table is one result: what is doubtful about it, and the table once it is there.
import type { ComponentChildren, ComponentProps } from "preact";
import type { Overview } from "../../api/types";
import type { Latest } from "../../state/use-result";
import { DataWarnings } from "./data-warnings";
import { Show } from "./load-states";
import { NoDeviceTimes } from "./no-device-times";

interface TablePageProps<T> {
  latest: Latest<T>;
  base: Overview;
  figures: ComponentProps<typeof DataWarnings>["figures"];
  class?: string;
  /** Whether there is nothing to show without device times. */
  isOfDevice?: boolean;
  children: (value: T) => ComponentChildren;
}

export function TablePage<T>(props: TablePageProps<T>) {
  const { latest, base, figures, isOfDevice = false, children } = props;
  const noTimes = base.provenance.timeline === "none" && <NoDeviceTimes overview={base} />;
  if (noTimes && isOfDevice) return <div class="fill">{noTimes}</div>;
  return (
    <div class={props.class ? `${props.class} fill` : "fill"} aria-busy={latest.isStale}>
      {noTimes}
      <DataWarnings findings={base.provenance.warnings} figures={figures} />
      <Show resource={latest}>{children}</Show>
    </div>
  );
}
