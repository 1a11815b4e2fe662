// The operators page: by name, input shapes, call stack, module or category.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { OperatorRow, Operators as Result } from "../../api/types";
import { firstWord, quote } from "../../lib/filter";
import { duration, exactDuration, percent } from "../../lib/format";
import { useLatest, useView } from "../../state/use-result";
import { rowOfStep, type Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { linkProps } from "../../state/links";
import { tableInUrl } from "../../state/table-in-url";
import { t } from "../../i18n";
import { fitting } from "../../widgets/table/columns";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { DataWarnings } from "../shared/data-warnings";
import { InstancesPanel } from "../shared/instances-panel";
import { NoDeviceTimes } from "../shared/no-device-times";
import type { PageProps } from "../page-props";
import { ModelledNote, WORK_KEYS } from "../shared/work";
import { StackPanel } from "./stack-panel";
import { Show } from "../shared/load-states";
import { columnsOf, whole, type Group } from "./columns";

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
  const { filter, sort } = state.value;
  // With more rows than a page takes, the server looks for the words and puts them in order.
  const [many, setMany] = useState(false);
  const find = many ? firstWord(filter, TEXTS, [...SORTED, ...WORK_KEYS, "share"]) : null;
  const key = many ? (sort?.split(",")[0] ?? "") : "";
  const resource = useView("operators", selected, {
    group,
    ...(find !== null && { find }),
    ...(["name", ...SORTED, ...WORK_KEYS].includes(key.replace(/^-/, "")) && { sort: key }),
  });
  // While the server looks or sorts, the table stays: what is typed must not lose its field.
  const loaded = useLatest(resource.loaded, JSON.stringify([selected.place, group]));
  const rows = loaded.status === "ready" ? loaded.value : null;
  useEffect(() => {
    if (rows) setMany(rows.total_rows > rows.found_rows || rows.others !== null);
  }, [rows]);
  return (
    <div class="fill" aria-busy={loaded !== resource.loaded}>
      {base.provenance.timeline === "none" && <NoDeviceTimes overview={base} />}
      <DataWarnings findings={base.provenance.warnings} figures={["operators"]} />
      <Show resource={{ ...resource, loaded }}>
        {(result) => (
          <OperatorTable
            result={result}
            group={group}
            selected={selected}
            step={rowOfStep(base.steps, selected.place.step)}
          />
        )}
      </Show>
    </div>
  );
}

const TEXTS = ["name", "category", "input_shapes", "module", "stack", "forward"];
const SORTED = [
  "calls",
  "host_self_ns",
  "host_total_ns",
  "device_self_ns",
  "device_total_ns",
  "kernels",
  "launches",
  "launch_ns",
  "backward_device_ns",
];

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
  const opened =
    group === "stack"
      ? result.rows.find((r) => r.stack !== null && String(r.longest_row) === selected)
      : undefined;
  const drilled = result.rows.find((r) => r.longest_row !== null && selected === `calls:${r.longest_row}`);
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
        selected={(opened ?? drilled) ? keyOf((opened ?? drilled) as OperatorRow, group) : null}
        inferred={result.provenance.timeline === "inferred"}
        onOpen={(r) => open(r, group, r === (opened ?? drilled))}
      >
        <GroupChoice result={result} group={group} />
        <Notes result={result} />
        <ModelledNote modelled={result.modelled} />
      </Table>
      {opened?.stack && (
        <StackPanel
          title={texts.stackTitle(opened.name ?? "", opened.calls)}
          stack={opened.stack}
          row={opened.longest_row}
          close={() => go({ selected: null })}
        />
      )}
      {drilled && drilled.longest_row !== null && (
        <InstancesPanel
          selected={place}
          of={{ view: "calls", index: drilled.longest_row, group }}
          name={drilled.name ?? ""}
          calls={drilled.calls}
          category="cpu"
          step={step}
          inferred={false}
          close={() => go({ selected: null })}
        >
          {drilled.kernels !== null && drilled.kernels > 0 && drilled.name !== null && (
            <a
              {...linkProps({ view: "kernels", filter: `operator = ${quote(drilled.name)}` })}
              data-testid="operator-kernels"
            >
              {texts.itsKernels}
            </a>
          )}
        </InstancesPanel>
      )}
    </>
  );
}

/** What a click on a row shows: the operators of its category, its stack, or its calls. */
function open(row: OperatorRow, group: Group, isOpen: boolean): void {
  if (group === "category") go({ group: null, filter: `category = ${quote(row.category)}`, sort: null });
  else if (group === "stack" && row.stack !== null) go({ selected: isOpen ? null : String(row.longest_row) });
  else if (row.longest_row !== null) go({ selected: isOpen ? null : `calls:${row.longest_row}` });
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
