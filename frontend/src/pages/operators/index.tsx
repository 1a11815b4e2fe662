// Operators by name, input shapes, call stack, module or kind of work.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { OperatorRow, Operators as Result, Options } from "../../api/types";
import { firstWord, quote } from "../../lib/filter";
import { count, duration, exactDuration, percent } from "../../lib/format";
import { ownFrame } from "../../lib/python-stack";
import { useLatest, useView } from "../../state/use-result";
import { rowOfStep, type Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { fitting, type Column } from "../../widgets/table/columns";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { Doubts } from "../shared/data-warnings";
import { InstancesPanel } from "../shared/instances-panel";
import { linkProps } from "../../state/links";
import { NoDeviceTimes } from "../shared/no-device-times";
import type { PageProps } from "../page-props";
import { StackPanel } from "./stack-panel";
import { Show } from "../shared/load-states";

type Group = NonNullable<Options["operators"]["group"]>;

const texts = t.operators;
const heads = texts.columns;

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
  const find = many ? firstWord(filter, TEXTS, [...SORTED, "share"]) : null;
  const key = many ? (sort?.split(",")[0] ?? "") : "";
  const resource = useView("operators", selected, {
    group,
    ...(find !== null && { find }),
    ...(["name", ...SORTED].includes(key.replace(/^-/, "")) && { sort: key }),
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
      <Doubts findings={base.provenance.warnings} figures={["operators"]} />
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

function OperatorTable({
  result,
  group,
  selected: place,
  step,
}: {
  result: Result;
  group: Group;
  selected: Selected;
  step: number | null;
}) {
  const device = result.device_self_ns !== null;
  const columns = useMemo(() => columnsOf(result, group), [result, group]);
  const { filter, sort, selected } = state.value;
  const opened =
    group === "stack"
      ? result.rows.find((r) => r.stack !== null && String(r.longest_row) === selected)
      : undefined;
  const drilled = result.rows.find((r) => r.longest_row !== null && selected === `calls:${r.longest_row}`);
  const open = (r: OperatorRow): void => {
    if (group === "category") go({ group: null, filter: `category = ${quote(r.category)}`, sort: null });
    else if (group === "stack" && r.stack !== null)
      go({ selected: r === opened ? null : String(r.longest_row) });
    else if (r.longest_row !== null) go({ event: `ops/${r.longest_row}` });
  };
  return (
    <>
      <Table
        name="operators"
        {...(group === "category" ? texts.category : texts.operator)}
        columns={columns}
        rows={result.rows}
        rowKey={(r) => keyOf(r, group)}
        sort={sort}
        defaultSort={device ? "-device_self_ns" : "-host_self_ns"}
        filter={filter}
        selected={(opened ?? drilled) ? keyOf((opened ?? drilled) as OperatorRow, group) : null}
        inferred={result.provenance.timeline === "inferred"}
        onOpen={open}
        onSort={(s) => go({ sort: s })}
        onFilter={(f) => go({ filter: f }, "replace")}
      >
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
        <Notes result={result} />
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
        />
      )}
    </>
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
  if (row.name === null) return "unlinked";
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

/** All self time: of the device where there is any, of the host otherwise. */
function whole(result: Result): number {
  return result.device_self_ns === null
    ? result.host_self_ns
    : result.device_self_ns + (result.unlinked_device_ns ?? 0);
}

function columnsOf(result: Result, group: Group): Column<OperatorRow>[] {
  const device = result.device_self_ns !== null;
  const launched = result.rows.some((r) => r.launches !== null);
  const all = whole(result);
  const columns: (Column<OperatorRow> | false)[] = [
    {
      key: "name",
      ...(group === "category" ? heads.category : heads.name),
      kind: "text",
      width: 216,
      help: texts.groups[group].row,
      value: (r) => wordOf(r, group),
      code: (r) => r.name,
      cell: (r) => <Name row={r} group={group} />,
    },
    group !== "category" && {
      key: "category",
      ...heads.category,
      kind: "text",
      width: 104,
      optional: true,
      value: (r) => (r.name === null ? null : texts.categories[r.category]),
      code: (r) => (r.name === null ? null : r.category),
    },
    group === "shapes" && {
      key: "input_shapes",
      ...heads.inputShapes,
      kind: "text",
      width: 240,
      value: (r) => r.input_shapes,
    },
    group === "module" && {
      key: "module",
      ...heads.module,
      kind: "text",
      width: 200,
      value: (r) => r.module,
    },
    group === "stack" && {
      key: "stack",
      ...heads.stack,
      kind: "text",
      width: 280,
      value: (r) => r.stack,
      cell: (r) => (
        <span class="value" title={r.stack?.replaceAll(";", "\n") ?? texts.noFrames}>
          {ownFrame(r.stack)?.replace(/^.*\//, "") ?? "–"}
        </span>
      ),
    },
    {
      key: "share",
      ...heads.share,
      kind: "share",
      width: 132,
      additive: true,
      help: device ? texts.shareOfDevice : texts.shareOfHost,
      value: (r) => (all > 0 ? ((device ? r.device_self_ns : r.host_self_ns) ?? 0) / all : null),
      bar: () => (device ? "kernel" : "cpu"),
      bounded: (r) => r.bounded_share,
      bound: (r) => (!device ? 0 : r.device_bound_ns === null ? null : r.device_bound_ns / all),
    },
    device && {
      key: "device_self_ns",
      ...heads.deviceSelf,
      kind: "time",
      width: 98,
      additive: true,
      value: (r) => r.device_self_ns,
      bound: (r) => r.device_bound_ns,
    },
    device && {
      key: "device_total_ns",
      ...heads.deviceTotal,
      kind: "time",
      width: 98,
      value: (r) => r.device_total_ns,
      bound: (r) => r.device_total_bound_ns,
    },
    {
      key: "host_self_ns",
      ...heads.hostSelf,
      kind: "time",
      width: 88,
      additive: true,
      value: (r) => r.host_self_ns,
    },
    { key: "host_total_ns", ...heads.hostTotal, kind: "time", width: 88, value: (r) => r.host_total_ns },
    {
      key: "calls",
      ...heads.calls,
      kind: "count",
      width: 76,
      additive: true,
      value: (r) => r.calls,
      cell: (r) =>
        r.longest_row === null ? (
          <span class="value">{count(r.calls)}</span>
        ) : (
          <a
            class="value"
            data-testid="drill"
            {...linkProps({ selected: `calls:${r.longest_row}` })}
            title={texts.showCalls}
          >
            {count(r.calls)}
          </a>
        ),
    },
    device && {
      key: "kernels",
      ...heads.kernels,
      kind: "count",
      width: 80,
      additive: true,
      value: (r) => r.kernels,
    },
    launched && {
      key: "launch_ns",
      ...heads.launch,
      kind: "time",
      width: 88,
      additive: true,
      value: (r) => r.launch_ns,
    },
    launched && {
      key: "launches",
      ...heads.launches,
      kind: "count",
      width: 80,
      additive: true,
      optional: true,
      value: (r) => r.launches,
    },
    device && {
      key: "backward_device_ns",
      ...heads.backwardDevice,
      kind: "time",
      width: 88,
      optional: true,
      value: (r) => r.backward_device_ns,
      bound: (r) => r.backward_bound_ns,
    },
    {
      key: "forward",
      ...heads.forward,
      kind: "text",
      width: 140,
      optional: true,
      value: (r) => r.forward,
      cell: (r) =>
        r.forward === null ? (
          <span class="value muted">–</span>
        ) : (
          <a class="value" {...linkProps({ group: null, filter: `name = ${quote(r.forward)}`, sort: null })}>
            {r.forward}
          </a>
        ),
    },
  ];
  return columns.filter((c) => c !== false);
}

/** What a row is called: its operator, or its kind of work. */
function wordOf(row: OperatorRow, group: Group): string {
  if (row.name === null) return texts.nobody;
  return group === "category" ? texts.categories[row.category] : row.name;
}

function Name({ row, group }: { row: OperatorRow; group: Group }) {
  if (row.name === null)
    return (
      <a class="value" {...linkProps({ view: "kernels", filter: 'operator = ""' })} title={texts.nobodyHelp}>
        {texts.nobody}
      </a>
    );
  if (!row.kernels || group === "category") return <span class="value">{wordOf(row, group)}</span>;
  return (
    <a
      class="value"
      {...linkProps({ view: "kernels", filter: `operator = ${quote(row.name)}` })}
      title={texts.toKernels(row.name)}
    >
      {row.name}
    </a>
  );
}
