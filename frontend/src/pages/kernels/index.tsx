// The kernels page: device activities by name and launching operator.
import { useMemo } from "preact/hooks";
import type { KernelRow, KernelTable as Result } from "../../api/types";
import { categoryOf } from "../../lib/color";
import { quote } from "../../lib/filter";
import { duration, exactDuration, percent } from "../../lib/format";
import { rowInTrace, type Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { useServerTable } from "../../state/use-server-table";
import { tableInUrl } from "../../state/table-in-url";
import { t } from "../../i18n";
import { fitting, type Column } from "../../widgets/table/columns";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { RowFacts } from "../shared/inspector/row-facts";
import { RowInspector } from "../shared/inspector/row-inspector";
import { TablePage } from "../shared/table-page";
import type { PageProps } from "../page-props";
import { ModeledNote } from "../shared/work";
import { columnsOf, type Group } from "./columns";

const texts = t.kernels;

const GROUPS: readonly Group[] = ["operator", "name", "launch"];

export function Kernels({ selected, base }: PageProps) {
  const group = GROUPS.find((g) => g === state.value.group) ?? "operator";
  const inferred = base.provenance.timeline === "inferred";
  const latest = useServerTable("kernels", selected, group, (result) => columnsOf(inferred, result, group));
  return (
    <TablePage latest={latest} base={base} figures={["kernels"]} isOfDevice>
      {(result) => (
        <KernelTable
          result={result}
          group={group}
          selected={selected}
          step={rowInTrace(base, selected.place.step)}
        />
      )}
    </TablePage>
  );
}

function KernelTable({
  result,
  group,
  selected,
  step,
}: {
  result: Result;
  group: Group;
  selected: Selected;
  step: number | null;
}) {
  const inferred = result.provenance.timeline === "inferred";
  const columns = useMemo(() => columnsOf(inferred, result, group), [inferred, result, group]);
  const { selected: key } = state.value;
  const opened = result.rows.find((r) => String(r.longest_row) === key);
  return (
    <>
      <Table
        name="kernels"
        hideUniform
        noun={texts.noun}
        nouns={texts.nouns}
        columns={columns}
        rows={result.rows}
        rowKey={(r) => keyOf(r, group)}
        {...tableInUrl()}
        defaultSort="-total_ns"
        inferred={inferred}
        selected={opened ? keyOf(opened, group) : null}
        onOpen={(r) => go({ selected: r === opened ? null : String(r.longest_row) })}
      >
        <GroupChoice result={result} group={group} columns={(g) => columnsOf(inferred, result, g)} />
        <Notes result={result} />
        <ModeledNote modeled={result.modeled} />
      </Table>
      {opened && (
        <RowInspector
          selected={selected}
          of={{ view: "kernel_instances", index: opened.longest_row, group }}
          name={opened.name}
          full={opened.full_name}
          calls={opened.calls}
          change={`kernel:${opened.full_name}=0`}
          drawn={[
            {
              key: "roofline",
              to: { view: "roofline", by: "kernel", filter: `name = ${quote(opened.name)}` },
            },
          ]}
          category={categoryOf(opened.kind)}
          step={step}
          inferred={inferred}
        >
          <RowFacts row={opened} columns={columns} without={["name", "calls", "short_calls"]} />
        </RowInspector>
      )}
    </>
  );
}

interface GroupChoiceProps {
  result: Result;
  group: Group;
  /** The table's columns with another grouping. */
  columns: (group: Group) => readonly Column<KernelRow>[];
}

/** What a row is; the order and filter stay as far as the new columns have them. */
function GroupChoice({ result, group, columns }: GroupChoiceProps) {
  const { filter, sort } = state.value;
  return (
    <Segmented
      label={texts.groupBy}
      value={group}
      onPick={(g) =>
        go({ group: g === "operator" ? null : g, selected: null, ...fitting(sort, filter, columns(g)) })
      }
      choices={[
        { value: "operator", label: texts.byOperator },
        { value: "name", label: texts.byName },
        {
          value: "launch",
          label: texts.byLaunch,
          disabled: !result.has_configs,
          title: result.has_configs ? texts.byLaunchHelp : texts.noLaunches,
        },
      ]}
    />
  );
}

/** Short kernels, the matrix unit, and what the rows leave out. */
function Notes({ result: { short, matrix, others } }: { result: Result }) {
  return (
    <>
      {short && short.calls > 0 && (
        <span
          class="muted"
          data-testid="short"
          data-value={short.calls}
          title={texts.shortHelp(short.calls, exactDuration(short.total_ns))}
        >
          {texts.short(percent(short.share), duration(short.short_ns))}
        </span>
      )}
      {matrix && matrix.eligible_ns > 0 && (
        <span
          class="muted"
          data-testid="matrix"
          data-value={matrix.used_ns}
          title={texts.matrixHelp(
            exactDuration(matrix.eligible_ns),
            exactDuration(matrix.used_ns),
            exactDuration(matrix.total_ns),
          )}
        >
          {texts.matrix(matrix.unit, percent(matrix.used_ns / matrix.eligible_ns))}
        </span>
      )}
      {others && (
        <span class="muted" data-testid="others" data-value={others.rows} title={texts.othersHelp}>
          {texts.others(others.rows, duration(others.total_ns))}
        </span>
      )}
    </>
  );
}

function keyOf(row: KernelRow, group: Group): string {
  return group === "launch" ? String(row.longest_row) : `${row.kind} ${row.full_name} ${row.operator ?? ""}`;
}
