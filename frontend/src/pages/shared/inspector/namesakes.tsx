// The other calls with the name of one event: whether it is as long as they usually are.
import type { Instances, Item } from "../../../api/types";
import { duration, percent } from "../../../lib/format";
import type { Selected } from "../../../state/selection";
import { useView } from "../../../state/use-result";
import { t } from "../../../i18n";
import { Section } from "../../../widgets/inspector/section";
import { Show } from "../load-states";
import { Durations } from "./durations";
import type { Way } from "./jumps";

const texts = t.inspector;

interface NamesakesProps {
  item: Item;
  selected: Selected;
  way: Way;
}

export function Namesakes(props: NamesakesProps) {
  if (props.item.table === "steps") return null;
  return (
    <Section name="namesakes" title={texts.parts.namesakes}>
      <OfName {...props} />
    </Section>
  );
}

function OfName({ item, selected, way }: NamesakesProps) {
  const asked = { table: item.table, index: item.index, order: "typical", limit: 0 } as const;
  const resource = useView("namesakes", selected, asked, null);
  return (
    <Show resource={resource}>
      {(found) => (
        <>
          <p data-testid="namesakes" data-value={found.calls}>
            {placeOf(found)}{" "}
            {found.calls > 1 && found.typical && (
              <>
                {texts.median}{" "}
                <a {...way(found.typical)} title={texts.toTypical} data-testid="to-typical">
                  {duration(found.typical.end_ns - found.typical.start_ns)}
                </a>
              </>
            )}
          </p>
          {found.calls > 1 && (
            <Durations
              found={found}
              name={item.name}
              fill={item.table === "kernels" ? "var(--kernel)" : "var(--cpu)"}
              mark={item.end_ns - item.start_ns}
            />
          )}
        </>
      )}
    </Show>
  );
}

/** Where it lies among them, in words. */
export function placeOf({ calls, shorter }: Pick<Instances, "calls" | "shorter">): string {
  if (shorter === null) return "";
  if (calls < 2) return texts.only;
  return shorter ? texts.longerThan(percent(shorter / calls), calls) : texts.shortest(calls);
}
