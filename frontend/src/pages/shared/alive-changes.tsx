// What is live at one instant against another, by function, class of module or category.
import type { AliveChange, MemoryCategory, MemoryDifference } from "../../api/types";
import { signedBytes } from "../../lib/format";
import { t } from "../../i18n";
import { derived, field, worded, type Column } from "../../widgets/table/columns";
import { Table } from "../../widgets/table/table";

const texts = t.memoryChanges;

/** The values of the memory page's URL key `group` that show what changed. */
export const CHANGES = ["change_functions", "change_modules", "change_categories"] as const;
export type Change = (typeof CHANGES)[number];

const FIELDS = {
  change_functions: "functions",
  change_modules: "modules",
  change_categories: "categories",
} as const satisfies Record<Change, keyof MemoryDifference>;
type Grouping = (typeof FIELDS)[Change];

export const CHANGE_CHOICES = CHANGES.map((value) => ({ value, label: texts[FIELDS[value]] }));

type Row = AliveChange & { device: string };
type Common = Pick<Parameters<typeof Table<Row>>[0], "sort" | "filter" | "onSort" | "onFilter" | "children">;

/** No component: the choices in the table would lose the focus to another table's. */
export function aliveChanges(found: readonly MemoryDifference[], change: Change, common: Common) {
  const by = FIELDS[change];
  return (
    <Table
      {...common}
      name="memory-change"
      {...texts.nouns[by]}
      columns={columnsOf(by, found.length > 1)}
      rows={found.flatMap(({ device, ...each }) => each[by].map((row) => ({ ...row, device })))}
      rowKey={(r) => JSON.stringify([r.device, r.source, r.name, r.operator])}
      defaultSort=""
    />
  );
}

function nameOf({ source, name, operator }: Row, by: Grouping): string {
  if (source !== "operator") return t.memoryTables.sources[source].label;
  if (name === null) return operator ?? t.memoryTables.sources.operator.label;
  return by === "categories" ? t.memoryCategories[name as MemoryCategory["category"]].label : name;
}

const columnsOf = (by: Grouping, hasDevices: boolean): readonly Column<Row>[] => [
  derived("name", texts.name, "text", 360, (r) => nameOf(r, by), {
    code: (r) => r.name ?? r.operator ?? r.source,
    cell: (r) => (
      <span class={r.name === null ? "value muted" : "value"} title={nameOf(r, by)}>
        {nameOf(r, by)}
      </span>
    ),
  }),
  ...(hasDevices ? [field<Row>("device", texts.device, "text", 100)] : []),
  worded("reason", texts.reason, 120, (r) => texts.reasons[r.reason].label, {
    cell: (r) => (
      <span class="value" title={texts.reasons[r.reason].title}>
        {texts.reasons[r.reason].label}
      </span>
    ),
  }),
  field("base_bytes", texts.base, "bytes", 96, { additive: true }),
  field("now_bytes", texts.now, "bytes", 96, { additive: true }),
  field("change_bytes", texts.change, "bytes", 104, {
    additive: true,
    cell: (r) => <span class="value">{signedBytes(r.change_bytes)}</span>,
  }),
  field("base_most_bytes", texts.most, "bytes", 104),
  field("base_allocations", texts.baseBlocks, "count", 96),
  field("now_allocations", texts.blocks, "count", 84),
];
