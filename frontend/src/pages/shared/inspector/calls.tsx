// The calls behind a row of a table: how long they take, the typical one first and selected, and all that
// is known of the selected one.
import { useState } from "preact/hooks";
import type { Instances, Options } from "../../../api/types";
import { color, type Category } from "../../../lib/color";
import { useView } from "../../../state/use-result";
import type { Selected } from "../../../state/selection";
import { go, state } from "../../../state/url";
import { t } from "../../../i18n";
import { Section } from "../../../widgets/inspector/section";
import { Show } from "../load-states";
import { CallSites } from "./call-sites";
import { CallCounters } from "./call-counters";
import { Durations } from "./durations";
import { InstanceList, type Order } from "./instance-list";
import { One } from "./one-call";

/** The lookup of the calls, and the table of its rows. */
export type Asked =
  | { view: "kernel_instances"; index: number; group: NonNullable<Options["kernel_instances"]["group"]> }
  | { view: "operator_calls"; index: number; group: NonNullable<Options["operator_calls"]["group"]> };

export interface CallsProps {
  selected: Selected;
  of: Asked;
  name: string;
  category: Category;
  /** The row of the selected step among the trace's steps; null for all. */
  step: number | null;
  inferred: boolean;
}

const texts = t.instancesPanel;

const MOST = 1000;

export function Calls({ selected, of, category, name, step, inferred }: CallsProps) {
  const [order, setOrder] = useState<Order>("typical");
  const { view, ...asked } = of;
  const options = { ...asked, order, limit: MOST, ...(step !== null && { step }) };
  const resource = useView<"kernel_instances" | "operator_calls">(view, selected, options, null);
  return (
    <Show resource={resource}>
      {(found) => {
        const chosen = state.value.instance ?? found.typical?.index ?? null;
        return (
          <>
            <Section name="instances" title={t.inspector.parts.instances}>
              <Durations found={found} name={name} fill={color(category)} mark={lengthOf(found, chosen)} />
              <InstanceList
                {...{ found, order, setOrder, inferred, chosen }}
                nouns={view === "operator_calls" ? texts.call : texts.activity}
              />
            </Section>
            <CallSites sites={found.sites} />
            <CallCounters counters={found.counters} />
            {found.typical && chosen !== null && (
              <Chosen index={chosen} typical={found.typical} selected={selected} />
            )}
          </>
        );
      }}
    </Show>
  );
}

/** How long one of the calls took; null if it is none of the listed ones. */
export function lengthOf({ items, typical }: Instances, index: number | null): number | null {
  const item = [typical, ...items].find((one) => one?.index === index);
  return item ? item.end_ns - item.start_ns : null;
}

interface ChosenProps {
  index: number;
  typical: NonNullable<Instances["typical"]>;
  selected: Selected;
}

/** The selected call; the longest may be an exception, so it is the typical one at first. */
function Chosen({ index, typical, selected }: ChosenProps) {
  const isTypical = index === typical.index;
  return (
    <One
      {...{ index, selected }}
      table={typical.table}
      testid={isTypical ? "typical" : "chosen"}
      title={isTypical ? texts.typical : texts.chosen}
      help={isTypical ? texts.typicalHelp : undefined}
    >
      {!isTypical && (
        <button type="button" class="quiet" data-testid="to-typical" onClick={() => go({ instance: null })}>
          {texts.back}
        </button>
      )}
    </One>
  );
}
