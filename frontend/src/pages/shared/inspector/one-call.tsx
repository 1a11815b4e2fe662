// One call of several, with all that is known of it.
import type { ComponentChildren } from "preact";
import type { Item } from "../../../api/types";
import type { Selected } from "../../../state/selection";
import { useView } from "../../../state/use-result";
import { Show } from "../load-states";
import { Event } from "./event";
import { timelineOf } from "./event-links";
import { toEvent } from "./jumps";

interface OneProps {
  table: Item["table"];
  index: number;
  selected: Selected;
  title: string;
  help?: string | undefined;
  testid?: string;
  /** Beside the title. */
  children?: ComponentChildren;
}

export function One({ table, index, selected, title, help, testid = "longest", children }: OneProps) {
  const links = useView("links", selected, { table, index }, null);
  return (
    <div class="one" data-testid={testid} data-value={index}>
      <h3 title={help}>
        {title} {children}
      </h3>
      <Show resource={links}>
        {(value) => (
          <Event
            key={index}
            links={value}
            selected={selected}
            way={toEvent(null)}
            toTimeline={timelineOf(value, null)}
            one
          />
        )}
      </Show>
    </div>
  );
}
