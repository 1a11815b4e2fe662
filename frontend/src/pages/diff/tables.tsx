// The tables of the diff page: items of both traces, or their steps side by side.
import { useMemo } from "preact/hooks";
import type { Diff as Result, DiffRow, DiffStep } from "../../api/types";
import { signedDuration } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import { nameOf, type Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { tableInUrl } from "../../state/table-in-url";
import { t } from "../../i18n";
import { compare } from "../../i18n/compare";
import { derived, field, worded, type Column } from "../../widgets/table/columns";
import { useOpenRows } from "../../widgets/table/use-open-rows";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { TreeToggle } from "../../widgets/table/tree-toggle";
import { FlameDiff } from "./flame";
import { MemoryDiff } from "./memory";
import { calls, RowPanel } from "./row-panel";
import { RELATIVE } from "./relative";
import { keyOf, KINDS, WORDS, type Shown } from "./rows";
import { comparedWork } from "./work-columns";
import { NotListed } from "../shared/not-listed";
import { StepLink } from "../shared/step-link";

const texts = compare.diffTables;

interface DiffTableProps {
  result: Result;
  shown: Shown;
  selected: Selected;
  other: Selected;
}

/** A row opens below the table: the page stays. */
export function DiffTable({ selected, other, ...of }: DiffTableProps) {
  const { result, shown } = of;
  const named = KINDS.some((k) => k === shown);
  const opened = named ? result.rows.find((row) => keyOf(row) === state.value.selected) : undefined;
  if (shown === "flame")
    return (
      <>
        <div class="toolbar">
          <Choice result={result} shown={shown} />
        </div>
        <FlameDiff selected={selected} other={other} />
      </>
    );
  return (
    <>
      <ShownTable {...of} opened={opened ?? null} />
      {opened && (
        <RowPanel row={opened} by={result.by} other={other} close={() => go({ selected: null }, "replace")} />
      )}
    </>
  );
}

interface ShownTableProps {
  result: Result;
  shown: Shown;
  opened: DiffRow | null;
}

function ShownTable({ result, shown, opened }: ShownTableProps) {
  const shared = {
    ...tableInUrl(),
    inferred: [result.provenance, result.base].some((p) => p.timeline === "inferred"),
  };
  const choice = <Choice result={result} shown={shown} />;
  if (shown === "steps")
    return (
      <Table
        {...shared}
        name="diff-steps"
        {...texts.stepNoun}
        columns={STEPS}
        rows={result.steps.map((s, i) => ({ ...s, number: i + 1 }))}
        rowKey={(s) => String(s.number)}
        defaultSort="number"
      >
        {choice}
        <NotListed listed={result.steps.length} total={result.pairs_total} text={t.stepLink.listed} />
      </Table>
    );
  if (shown === "memory")
    return (
      <MemoryDiff result={result} shared={shared}>
        {choice}
      </MemoryDiff>
    );
  const nested = result.rows.some((r) => r.parent !== null);
  const opening = {
    selected: opened && keyOf(opened),
    // Back closes the row again, and stays in the comparison.
    onOpen: (r: DiffRow) => (r === opened ? go({ selected: null }, "replace") : go({ selected: keyOf(r) })),
  };
  return nested ? (
    <Tree result={result} shared={{ ...shared, ...opening }}>
      {choice}
    </Tree>
  ) : (
    <Table
      {...shared}
      {...opening}
      name="diff"
      {...texts.nouns[result.by]}
      columns={columnsOf(result, null)}
      rows={result.rows}
      rowKey={keyOf}
      defaultSort=""
    >
      {choice}
    </Table>
  );
}

/** Which table, and by which time. */
function Choice({ result, shown }: { result: Result; shown: Shown }) {
  return (
    <>
      <Segmented
        label={texts.table}
        value={shown}
        onPick={(g) =>
          go({ group: g === "operators" ? null : g, sort: null, filter: null, selected: null, zoom: null })
        }
        choices={[
          ...KINDS.map((value) => ({ value, ...texts.shown[value] })),
          { value: "flame", ...texts.shown.flame },
          { value: "memory", ...texts.shown.memory },
          { value: "steps", ...texts.shown.steps },
        ]}
      />
      {shown !== "steps" && shown !== "memory" && shown !== "kernels" && (
        <Segmented
          label={texts.time}
          value={result.time}
          onPick={(by) => go({ by, sort: null })}
          choices={[
            { value: "device", label: texts.device },
            { value: "host", label: texts.host },
          ]}
        />
      )}
    </>
  );
}

interface TreeProps {
  result: Result;
  shared: Pick<
    Parameters<typeof Table<DiffRow>>[0],
    "sort" | "filter" | "inferred" | "onSort" | "onFilter" | "selected" | "onOpen"
  >;
  children: preact.ComponentChildren;
}

const rowName = (row: DiffRow): string => row.name;

function placesOf(rows: readonly DiffRow[]): Map<DiffRow, Place> {
  return new Map(
    rows.map((row) => [row, { depth: depthOf(rows, row), around: rows[row.parent ?? -1]?.name ?? null }]),
  );
}

/** Modules and annotations with what is inside; rows on the way to the largest changes are open. */
function Tree({ result, shared, children }: TreeProps) {
  const { rows } = result;
  const { tree } = useOpenRows(rows, rowName, () => openAtFirst(rows));
  const turn = tree.setOpen;
  const columns = useMemo(() => columnsOf(result, { places: placesOf(result.rows), turn }), [result, turn]);
  return (
    <Table
      {...shared}
      name="diff"
      {...texts.nouns[result.by]}
      columns={columns}
      rows={rows}
      rowKey={keyOf}
      defaultSort=""
      tree={tree}
    >
      {children}
    </Table>
  );
}

const OPEN_FOR = 12;

function openAtFirst(rows: readonly DiffRow[]): Set<string> {
  const open = new Set<string>();
  for (const row of rows.slice(0, OPEN_FOR)) {
    for (let at = row.parent; at !== null; at = rows[at]?.parent ?? null) open.add(rows[at]?.name ?? "");
  }
  return open;
}

function depthOf(rows: readonly DiffRow[], row: DiffRow): number {
  let depth = 0;
  for (let at = row.parent; at !== null; at = rows[at]?.parent ?? null) depth += 1;
  return depth;
}

interface Place {
  depth: number;
  /** The path of the row around it. */
  around: string | null;
}

interface Handles {
  places: ReadonlyMap<DiffRow, Place>;
  turn: (row: DiffRow, open: boolean) => void;
}

const STATUS = compare.diff.statuses;

function change<Row>(
  key: keyof Row & string,
  head: { title: string; help: string },
  width: number,
  unsure: (row: Row) => boolean = () => false,
): Column<Row> {
  const value = (row: Row): number | null => row[key] as number | null;
  return {
    key,
    ...head,
    kind: "time",
    width,
    value,
    cell: (row) => <span class={unsure(row) ? "value muted" : "value"}>{signedDuration(value(row))}</span>,
  };
}

function columnsOf(result: Result, handles: Handles | null): Column<DiffRow>[] {
  const additive = handles === null;
  const columns: (Column<DiffRow> | false)[] = [
    derived("name", { title: texts.heads[result.by] }, "text", 260, (r) => nameOf(r.name), {
      code: (r) => fullName(r),
      cell: (r) => (handles ? <TreeName row={r} handles={handles} /> : <Name row={r} />),
    }),
    result.by === "shapes" && field("detail", { title: texts.inputShapes }, "text", 200),
    result.by === "kernels" && field("detail", { title: texts.kind }, "text", 104),
    worded("status", { title: "" }, 72, (r) => STATUS[r.status], {
      help: texts.statusHelp,
      cell: (r) => <span class={`diff-status ${r.status}`}>{STATUS[r.status]}</span>,
    }),
    field("base_ns", { title: texts.base.title }, "time", 84, {
      additive,
      help: texts.base.help(result.time),
    }),
    field("now_ns", texts.now, "time", 84, { additive }),
    {
      ...change<DiffRow>(
        "change_ns",
        texts.change,
        92,
        (r) => r.verdict !== "longer" && r.verdict !== "shorter",
      ),
      additive,
    },
    field("change_share", texts.relative, "share", 84, RELATIVE),
    worded("verdict", texts.certainty, 132, (r) => WORDS[r.verdict]),
    field("noise_ns", texts.noise, "time", 80),
    result.rows.some((r) => r.bound_ns !== 0) && field("bound_ns", texts.bound, "time", 80),
    ...otherChanges(result),
    ...CALLS,
    ...comparedWork(result.rows),
  ];
  return columns.filter((c) => c !== false);
}

/** The changes of the time that the rows are not compared by, where there is any. */
function otherChanges({ rows, time }: Result): (Column<DiffRow> | false)[] {
  const host = rows.some((r) => r.host_change_ns !== null);
  const device = rows.some((r) => r.device_change_ns !== null);
  return [
    device && time !== "device" && change<DiffRow>("device_change_ns", texts.deviceChange, 108),
    host && time !== "host" && change<DiffRow>("host_change_ns", texts.hostChange, 98),
  ];
}

function Name({ row }: { row: DiffRow }) {
  return (
    <span class="value" title={row.full_name ?? nameOf(row.name)}>
      {nameOf(row.name)}
      {row.base_name !== null && (
        <small class="muted" title={row.base_full_name ?? row.base_name}>
          {texts.wasCalled(row.base_name)}
        </small>
      )}
    </span>
  );
}

const CALLS: readonly Column<DiffRow>[] = [
  field("base_calls", texts.baseCalls, "count", 84, {
    cell: (r) => <span class="value">{calls(r.base_calls)}</span>,
  }),
  field("now_calls", texts.calls, "count", 68, {
    cell: (r) => <span class="value">{calls(r.now_calls)}</span>,
  }),
];

function TreeName({ row, handles }: { row: DiffRow; handles: Handles }) {
  const place = handles.places.get(row);
  const name = place?.around == null ? nameOf(row.name) : row.name.slice(place.around.length + 3);
  return (
    <span
      class="value treename"
      style={{ paddingLeft: `${Math.min(place?.depth ?? 0, 16) * 14}px` }}
      title={nameOf(row.name)}
    >
      <TreeToggle labels={texts} name={name} onTurn={(open) => handles.turn(row, open)} />
      {name}
    </span>
  );
}

const STEPS: readonly Column<DiffStep & { number: number }>[] = [
  field("number", { title: "" }, "count", 60),
  field("base", { title: texts.steps.base }, "text", 160),
  field("now", texts.steps.now, "text", 160, {
    cell: (s) =>
      s.now === null ? <span class="value muted">–</span> : <StepLink name={s.now}>{s.now}</StepLink>,
  }),
  field("base_ns", { title: texts.base.title }, "time", 90, { additive: true }),
  field("now_ns", { title: texts.now.title }, "time", 90, { additive: true }),
  change("change_ns", texts.steps.change, 96),
];
