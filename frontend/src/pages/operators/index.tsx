// The operators page: by name, input shapes, call stack, module or category.
import { useMemo } from "preact/hooks";
import type { OperatorRow, Operators as Result } from "../../api/types";
import { quote } from "../../lib/filter";
import { duration, exactDuration, percent } from "../../lib/format";
import { rowInTrace, type Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { useServerTable } from "../../state/use-server-table";
import { tableInUrl } from "../../state/table-in-url";
import { t } from "../../i18n";
import { fitting } from "../../widgets/table/columns";
import { Segmented } from "../../widgets/controls/segmented";
import { Section } from "../../widgets/inspector/section";
import { Table } from "../../widgets/table/table";
import { RowFacts } from "../shared/inspector/row-facts";
import { RowInspector } from "../shared/inspector/row-inspector";
import { Stack } from "../shared/inspector/stack";
import { TablePage } from "../shared/table-page";
import type { PageProps } from "../page-props";
import { ModeledNote } from "../shared/work";
import { columnsOf, whole, wordOf, type Group } from "./columns";
import { toKernels } from "../../state/links";
import { TakeAway } from "./take-away";

const texts = t.operators;

const GROUPS: readonly { value: Group; needs: "has_shapes" | "has_stacks" | "has_modules" | null }[] = [
  { value: "name", needs: null },
  { value: "shapes", needs: "has_shapes" },
  { value: "stack", needs: "has_stacks" },
  { value: "module", needs: "has_modules" },
  { value: "category", needs: null },
];

export function Operators({ selected, base }: PageProps) {
  const group = GROUPS.find((g) => g.value === state.value.group)?.value ?? "name";
  const latest = useServerTable("operators", selected, group, (result) => columnsOf(result, group));
  return (
    <TablePage latest={latest} base={base} figures={["operators"]}>
      {(result) => (
        <OperatorTable
          result={result}
          group={group}
          selected={selected}
          step={rowInTrace(base, selected.place.step)}
        />
      )}
    </TablePage>
  );
}

interface OperatorTableProps {
  result: Result;
  group: Group;
  selected: Selected;
  step: number | null;
}

function OperatorTable({ result, group, selected: place, step }: OperatorTableProps) {
  const device = result.device_self_ns !== null;
  const columns = useMemo(() => columnsOf(result, group), [result, group]);
  const { selected } = state.value;
  const opened = selected === null ? undefined : result.rows.find((r) => idOf(r, group) === idIn(selected));
  return (
    <>
      <Table
        name="operators"
        hideUniform
        {...(group === "category" ? texts.category : texts.operator)}
        columns={columns}
        rows={result.rows}
        rowKey={(r) => keyOf(r, group)}
        {...tableInUrl()}
        defaultSort={device ? "-device_self_ns" : "-host_self_ns"}
        selected={opened ? keyOf(opened, group) : null}
        inferred={result.provenance.timeline === "inferred"}
        onOpen={(r) => open(r, group, r === opened)}
      >
        <GroupChoice result={result} group={group} />
        <Notes result={result} />
        <ModeledNote modeled={result.modeled} />
      </Table>
      {opened && <OpenRow {...{ group, columns, step }} row={opened} selected={place} />}
    </>
  );
}

/** What a refusal is about: another run may have the same row. */
const idOfCall = ({ place: { run, rank, span } }: Selected, row: number): string =>
  [run, rank, span, row].join(" ");

/** A row in the URL: by its longest call; what no operator launched has none, but may have a stack. */
const idOf = (row: OperatorRow, group: Group): string | null =>
  row.longest_row !== null ? String(row.longest_row) : row.stack !== null ? keyOf(row, group) : null;

/** Older links have `calls:` before the number. */
const idIn = (selected: string): string => selected.replace(/^calls:/, "");

interface OpenRowProps {
  row: OperatorRow;
  group: Group;
  columns: ReturnType<typeof columnsOf>;
  selected: Selected;
  step: number | null;
}

/** The inspector of a row: its figures, its stack, and its calls. */
function OpenRow({ row, group, columns, selected, step }: OpenRowProps) {
  const { name, stack, longest_row: longest } = row;
  return (
    <RowInspector
      selected={selected}
      of={longest === null ? null : { view: "operator_calls", index: longest, group }}
      name={wordOf(row, group)}
      calls={row.calls}
      change={name === null ? null : `operator:${name}=0`}
      drawn={name === null ? [] : drawingsOf(name)}
      category="cpu"
      step={step}
      inferred={false}
    >
      <p class="ways">
        {row.kernels !== null && row.kernels > 0 && name !== null && (
          <a {...toKernels(name)} data-testid="operator-kernels">
            {texts.itsKernels}
          </a>
        )}
        {longest !== null && (
          <TakeAway key={idOfCall(selected, longest)} place={selected.place} row={longest} />
        )}
      </p>
      <RowFacts row={row} columns={columns} without={["name", "calls", "stack"]} />
      {stack !== null && stack !== "" && (
        <Section name="stack" title={t.inspector.parts.frames}>
          <div data-testid="stack-panel">
            <Stack frames={stack.split(";")} />
          </div>
        </Section>
      )}
    </RowInspector>
  );
}

const drawingsOf = (name: string) => [
  { key: "flame" as const, to: { view: "flame", levels: "operators", filter: quote(name) } },
  { key: "roofline" as const, to: { view: "roofline", filter: `name = ${quote(name)}` } },
];

/** What a click on a row shows: the operators of its category, or its inspector. */
function open(row: OperatorRow, group: Group, isOpen: boolean): void {
  if (group === "category") go({ group: null, filter: `category = ${quote(row.category)}`, sort: null });
  else if (idOf(row, group) !== null) go({ selected: isOpen ? null : idOf(row, group) });
}

/** What a row is; the order and filter stay as far as the new columns have them. */
function GroupChoice({ result, group }: { result: Result; group: Group }) {
  const { filter, sort } = state.value;
  return (
    <Segmented
      label={texts.groupBy}
      value={group}
      onPick={(g) =>
        go({
          group: g === "name" ? null : g,
          selected: null,
          ...fitting(sort, filter, columnsOf(result, g)),
        })
      }
      choices={GROUPS.map(({ value, needs }) => {
        const { label, title, without } = texts.groups[value];
        const has = needs === null || result[needs];
        return { value, label, disabled: !has, title: has ? title : without };
      })}
    />
  );
}

/** What the rows leave out, and what no operator launched. */
function Notes({ result }: { result: Result }) {
  const { others, unlinked_device_ns: lost } = result;
  return (
    <>
      {others !== null && (
        <span class="muted" data-testid="others" data-value={others.rows} title={texts.othersHelp}>
          {others.device_self_ns === null
            ? texts.othersOnHost(others.rows, duration(others.host_self_ns))
            : texts.others(others.rows, duration(others.device_self_ns))}
        </span>
      )}
      {lost !== null && lost > 0 && (
        <span
          class="muted"
          data-testid="unlinked"
          data-value={lost}
          title={texts.unlinkedHelp(exactDuration(lost))}
        >
          {texts.unlinked(duration(lost), percent(lost / whole(result)))}
        </span>
      )}
    </>
  );
}

function keyOf(row: OperatorRow, group: Group): string {
  if (row.name === null || row.launcher !== null)
    return ["unlinked", row.launcher, row.name, row.module, row.stack].join(" ");
  switch (group) {
    case "name":
    case "category":
      return row.name;
    case "shapes":
      return `${row.name} ${row.input_shapes ?? ""}`;
    case "module":
      return `${row.name} ${row.module ?? ""}`;
    case "stack":
      return `${row.name} ${row.longest_row ?? ""}`;
  }
}
