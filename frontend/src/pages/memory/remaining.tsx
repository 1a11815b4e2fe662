// What the shown part allocated and did not release: by function, or by class of module.
import type { MemoryUse, RemainingMemory } from "../../api/types";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { Segmented } from "../../widgets/controls/segmented";
import { derived, field, type Column } from "../../widgets/table/columns";
import { Table } from "../../widgets/table/table";

const texts = t.memoryTables;
const heads = texts.ofRemaining;

/** The values of the URL key `group`. */
export const REMAINING = ["remaining", "remaining_modules"] as const;
export type Remaining = (typeof REMAINING)[number];

type Common = Pick<Parameters<typeof Table>[0], "sort" | "filter" | "onSort" | "onFilter" | "children">;

/** No component: the tabs in the table would lose the focus to another table's. */
export function remainingTable(result: MemoryUse, by: Remaining, common: Common) {
  const isModule = by === "remaining_modules";
  return (
    <Table
      {...common}
      name="memory-remaining"
      {...(isModule ? texts.nouns.remainingModule : texts.nouns.function)}
      columns={isModule ? MODULES : FUNCTIONS}
      rows={isModule ? result.remaining_modules : result.remaining_functions}
      rowKey={(r) => `${r.name ?? ""} ${r.name === null ? r.operator : ""}`}
      defaultSort="-bytes"
    >
      {common.children}
      <Segmented
        label={texts.remainingBy}
        value={by}
        onPick={(to) => go({ group: to, sort: null, filter: null })}
        choices={[
          { value: "remaining", label: texts.remainingFunctions },
          { value: "remaining_modules", label: texts.remainingModules },
        ]}
      />
    </Table>
  );
}

const columnsOf = (head: { title: string; help: string }, none: string): Column<RemainingMemory>[] => [
  derived("name", head, "text", 360, (r) => r.name ?? none, {
    code: (r) => r.name ?? "",
    full: (r) => r.name ?? none,
    cell: (r) => (
      <span class={`value ${r.name ? "" : "muted"}`} title={r.name ?? none}>
        {r.name ?? none}
      </span>
    ),
  }),
  field("operator", heads.operator, "text", 220),
  field("share", heads.share, "share", 160, { additive: true, bar: () => "kernel" }),
  field("bytes", heads.size, "bytes", 96, { additive: true }),
  field("allocations", heads.allocations, "count", 96, { additive: true }),
];

const FUNCTIONS = columnsOf(heads.function, texts.noFunction);
const MODULES = columnsOf(heads.module, texts.noModule);
