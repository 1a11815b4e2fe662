// The tables below the memory chart, one at a time: alive at the peak, operators, allocations, steps.
import { useMemo } from "preact/hooks";
import type { AliveRow, Allocation, MemoryStep, MemoryUse } from "../../api/types";
import { quote } from "../../lib/filter";
import { recordedStep, stepNumber } from "../../state/selection";
import { go, state } from "../../state/url";
import { tableInUrl } from "../../state/table-in-url";
import { t } from "../../i18n";
import { Segmented } from "../../widgets/controls/segmented";
import type { Column } from "../../widgets/table/columns";
import { Table } from "../../widgets/table/table";
import { NotListed } from "../shared/not-listed";
import { aliveChanges, type Change, CHANGE_CHOICES, CHANGES } from "../shared/alive-changes";
import { REMAINING, remainingTable } from "./remaining";
import {
  ALIVE,
  ALIVE_FUNCTIONS,
  allocationColumns,
  KINDS,
  MODULES,
  OPERATORS,
  STEPS,
  TOTALS,
} from "./columns";

const texts = t.memoryTables;
const nouns = texts.nouns;

/** When a row was alive, within the chart. */
export interface Life {
  key: string;
  start: number;
  end: number;
}

interface TablesProps {
  result: MemoryUse;
  onAll: () => void;
  life: Life | null;
  onLife: (life: Life | null) => void;
}

const TABS = [
  "alive",
  "alive_functions",
  "modules",
  "categories",
  ...REMAINING,
  ...CHANGES,
  "operators",
  "allocations",
  "steps",
] as const;
type Tab = (typeof TABS)[number];

export function MemoryTables({ result, onAll, life, onLife }: TablesProps) {
  // Without totals nothing is known of a step's peak and end.
  const steps = useMemo(
    () => STEPS.filter((c) => result.basis === "allocated" || !TOTALS.has(c.key)),
    [result.basis],
  );
  const first = firstTab(result);
  const { group } = state.value;
  const tab: Tab = TABS.find((one) => one === group) ?? first;
  const common = { ...tableInUrl(), children: <Tabs result={result} tab={tab} first={first} /> };
  switch (tab) {
    case "alive":
      return aliveTable(result, common);
    case "alive_functions":
      return aliveFunctionsTable(result, common);
    case "modules":
      return modulesTable(result, common);
    case "remaining":
    case "remaining_modules":
      return remainingTable(result, tab, common);
    case "change_functions":
    case "change_modules":
    case "change_categories":
      return changeTable(result, tab, common);
    case "categories":
      return categoriesTable(result, common);
    case "operators":
      return (
        <Table
          {...common}
          name="memory-operators"
          {...nouns.operator}
          columns={OPERATORS}
          rows={result.operators}
          rowKey={(r) => r.operator ?? ""}
          defaultSort="-self_allocated_bytes"
          onOpen={(r) => toAllocations(`operator = ${quote(r.operator ?? "")}`)}
        />
      );
    case "steps":
      return stepsTable(result, steps, common);
    case "allocations":
      return <Allocations result={result} onAll={onAll} life={life} onLife={onLife} common={common} />;
  }
}

/** What was live at the peak; by function if there are no operators, as in a memory snapshot. */
function firstTab({ alive, alive_functions }: MemoryUse): Tab {
  if (alive.length === 0) return "operators";
  const hasOperators = alive.some((r) => r.operator !== null);
  return !hasOperators && alive_functions.some((r) => r.function !== null) ? "alive_functions" : "alive";
}

/** The tab of tables that share one. */
const SHARED: ReadonlyMap<Tab, Tab> = new Map([
  ["remaining_modules", "remaining"],
  ["alive_functions", "alive"],
  ["change_modules", "change_functions"],
  ["change_categories", "change_functions"],
]);

interface TabsProps {
  result: MemoryUse;
  tab: Tab;
  /** The one that is shown if none is picked. */
  first: Tab;
}

function Tabs({ result, tab, first }: TabsProps) {
  return (
    <Segmented
      label={texts.table}
      value={SHARED.get(tab) ?? tab}
      onPick={(to) => go({ group: to === first || to === "alive" ? null : to, sort: null, filter: null })}
      choices={[
        {
          value: "alive",
          label: texts.alive,
          disabled: result.alive.length === 0,
          title: result.alive.length === 0 ? t.memory.needsAddresses : texts.aliveHelp,
        },
        {
          value: "modules",
          label: texts.byModule,
          disabled: result.alive_modules.length === 0,
          title: result.alive_modules.length === 0 ? t.memory.needsAddresses : texts.byModuleHelp,
        },
        {
          value: "categories",
          label: texts.byCategory,
          disabled: result.categories.length === 0,
          title: result.categories.length === 0 ? t.memory.needsAddresses : texts.byCategoryHelp,
        },
        {
          value: "remaining",
          label: texts.remaining,
          disabled: result.remaining_functions.length === 0,
          title: texts.remainingHelp,
        },
        {
          value: "change_functions",
          label: t.memoryChanges.tab,
          disabled: result.difference === null,
          title: result.difference === null ? t.memory.needsAddresses : t.memoryChanges.help,
        },
        { value: "operators", label: texts.byOperator },
        { value: "allocations", label: texts.allocations(result.allocations) },
        {
          value: "steps",
          label: texts.byStep,
          disabled: result.steps.length === 0,
          title: result.steps.length === 0 ? texts.noSteps : texts.byStepHelp,
        },
      ]}
    />
  );
}

/** The allocations that a row of another table is made of. */
const toAllocations = (filter: string | null): void => go({ group: "allocations", sort: null, filter });

/** The filter that the allocations of a row alive at the peak fulfil; none finds what is unexplained. */
function filterOf({ source, operator }: AliveRow): string | null {
  if (source === "unexplained") return null;
  return source === "earlier" ? 'fate = "earlier"' : `operator = ${quote(operator ?? "")}`;
}

/** No component, as the steps. */
function changeTable({ difference }: MemoryUse, tab: Change, common: Common) {
  const children = (
    <>
      {common.children}
      <Segmented
        label={t.memoryChanges.by}
        value={tab}
        onPick={(to) => go({ group: to, sort: null, filter: null })}
        choices={CHANGE_CHOICES}
      />
    </>
  );
  return aliveChanges(difference ? [difference] : [], tab, { ...common, children });
}

/** No component, as the steps. */
function categoriesTable(result: MemoryUse, common: Common) {
  return (
    <Table
      {...common}
      name="memory-categories"
      {...nouns.category}
      columns={KINDS}
      rows={result.categories}
      rowKey={(r) => r.category}
      defaultSort="-at_peak_bytes"
      onOpen={(r) => toAllocations(`category = ${quote(r.category)}`)}
    />
  );
}

/** What was alive at the peak, by module and phase. No component, as the steps. */
function aliveTable(result: MemoryUse, common: Common) {
  return (
    <Table
      {...common}
      name="alive"
      {...nouns.group}
      columns={ALIVE}
      rows={result.alive}
      rowKey={(r) => `${r.source} ${r.operator ?? ""} ${r.input_shapes ?? ""}`}
      defaultSort="-bytes"
      onOpen={(r) => toAllocations(filterOf(r))}
    >
      {common.children}
      <AliveBy value="alive" />
    </Table>
  );
}

function aliveFunctionsTable(result: MemoryUse, common: Common) {
  return (
    <Table
      {...common}
      name="alive-functions"
      {...nouns.function}
      columns={ALIVE_FUNCTIONS}
      rows={result.alive_functions}
      rowKey={(r) => `${r.source} ${r.function ?? ""} ${r.function === null ? r.operator : ""}`}
      defaultSort="-bytes"
    >
      {common.children}
      <AliveBy value="alive_functions" />
    </Table>
  );
}

/** The tables of what was live at the peak. */
function AliveBy({ value }: { value: "alive" | "alive_functions" }) {
  return (
    <Segmented
      label={texts.remainingBy}
      value={value}
      onPick={(to) => go({ group: to, sort: null, filter: null })}
      choices={[
        { value: "alive", label: texts.byOperator },
        { value: "alive_functions", label: texts.remainingFunctions },
      ]}
    />
  );
}

function modulesTable(result: MemoryUse, common: Common) {
  return (
    <Table
      {...common}
      name="memory-modules"
      {...nouns.module}
      columns={MODULES}
      rows={result.alive_modules}
      rowKey={(r) => `${r.phase} ${r.module ?? ""}`}
      defaultSort="-bytes"
    />
  );
}

/** No component: the tabs in the table would lose the focus to another table's. */
function stepsTable(result: MemoryUse, columns: readonly Column<MemoryStep>[], common: Common) {
  const step = recordedStep(state.value);
  return (
    <Table
      {...common}
      name="memory-steps"
      {...nouns.step}
      columns={columns}
      rows={result.steps}
      rowKey={(s) => s.name}
      defaultSort="start_ns"
      selected={result.steps.find((s) => stepNumber(s.name) === step)?.name ?? null}
      onOpen={(s) =>
        go(stepNumber(s.name) === step ? { step: null } : { step: stepNumber(s.name), window: null })
      }
    >
      {common.children}
      <NotListed listed={result.steps.length} total={result.memory_steps_total} text={t.stepLink.listed} />
    </Table>
  );
}

type Common = Pick<Parameters<typeof Table>[0], "sort" | "filter" | "onSort" | "onFilter" | "children">;

function Allocations({ result, onAll, life, onLife, common }: TablesProps & { common: Common }) {
  const rows = useMemo(
    () =>
      result.rows.map((row, i) => ({
        ...row,
        key: `${row.allocated_ns ?? ""}-${row.freed_ns ?? ""}-${row.bytes}-${i}`,
      })),
    [result],
  );
  const stacks = rows.some((r) => r.stack !== null);
  const end = result.window?.end_ns ?? 0;
  const columns = useMemo(
    () => allocationColumns(end).filter((c) => stacks || c.key !== "stack"),
    [stacks, end],
  );
  const pick = (row: (typeof rows)[number]): void =>
    onLife(life?.key === row.key ? null : { key: row.key, ...lifeOf(row, result) });
  return (
    <Table
      {...common}
      name="allocations"
      {...nouns.allocation}
      columns={columns}
      rows={rows}
      rowKey={(r) => r.key}
      defaultSort="-bytes"
      selected={life?.key ?? null}
      onOpen={pick}
    >
      {common.children}
      {rows.length < result.allocations && (
        <span class="muted">
          {texts.largestOf(result.allocations)}{" "}
          <button type="button" class="link" data-testid="all-allocations" onClick={onAll}>
            {texts.showMore}
          </button>
        </span>
      )}
    </Table>
  );
}

/** From its allocation, or the recording's start, to its release, or the recording's end. */
function lifeOf(row: Allocation, { window }: MemoryUse): { start: number; end: number } {
  const [first, last] = [window?.start_ns ?? 0, window?.end_ns ?? 0];
  const start = row.allocated_ns ?? (row.fate === "earlier" ? first : (row.freed_ns ?? first));
  return { start, end: row.freed_ns ?? (row.fate === "held" ? last : start) };
}
