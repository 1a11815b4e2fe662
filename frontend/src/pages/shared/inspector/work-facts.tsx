// The FLOPs and bytes of one range, its rates, and the share of the roof that it reaches.
import type { Item } from "../../../api/types";
import type { Selected } from "../../../state/selection";
import { useView } from "../../../state/use-result";
import { t } from "../../../i18n";
import { Section } from "../../../widgets/inspector/section";
import { workColumns } from "../work";
import { RowFacts } from "./row-facts";

/** Nothing where nothing is known of its work. */
export function WorkFacts({ item, selected }: { item: Item; selected: Selected }) {
  const asked = { table: item.table, index: item.index };
  const { loaded } = useView("work", selected, asked, null);
  const work = loaded.status === "ready" ? loaded.value : null;
  const columns = work && workColumns([work]);
  if (!work || !columns?.length) return null;
  return (
    <Section name="work" title={t.inspector.parts.work}>
      <RowFacts row={work} columns={columns} without={[]} testid="work-facts" />
    </Section>
  );
}
