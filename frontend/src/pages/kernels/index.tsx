// The kernels page: device activities by name and launching operator.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { KernelRow, KernelTable as Result, Options } from "../../api/types";
import { categoryOf, color } from "../../lib/color";
import { firstWord, quote } from "../../lib/filter";
import { count, duration, exactDuration, MISSING, percent } from "../../lib/format";
import { useLatest, useView } from "../../state/use-result";
import { rowOfStep, type Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { fitting, type Column } from "../../widgets/table/columns";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { DataWarnings } from "../shared/data-warnings";
import { InstancesPanel } from "../shared/instances-panel";
import { linkProps } from "../../state/links";
import { NoDeviceTimes } from "../shared/no-device-times";
import type { PageProps } from "../page-props";
import { Show } from "../shared/load-states";

type Group = NonNullable<Options["kernels"]["group"]>;

const texts = t.kernels;
const heads = texts.columns;

const GROUPS: readonly Group[] = ["operator", "name", "launch"];

const TEXTS = ["name", "kind", "operator", "grid", "block", "matrix_unit"];
const NUMBERS = [
  "share",
  "total_ns",
  "calls",
  "mean_ns",
  "median_ns",
  "p95_ns",
  "min_ns",
  "max_ns",
  "registers",
  "shared_bytes",
  "occupancy",
  "blocks_per_sm",
  "short_calls",
];

export function Kernels({ selected, base }: PageProps) {
  const group = GROUPS.find((g) => g === state.value.group) ?? "operator";
  const { filter } = state.value;
  // With more rows than a page takes, the server looks for the first word.
  const [many, setMany] = useState(false);
  const find = many ? firstWord(filter, TEXTS, NUMBERS) : null;
  const resource = useView("kernels", selected, { group, ...(find !== null && { find }) });
  // While the server looks, the table stays: what is typed must not lose its field.
  const loaded = useLatest(resource.loaded, JSON.stringify([selected.place, group]));
  const rows = loaded.status === "ready" ? loaded.value : null;
  useEffect(() => {
    if (rows) setMany(rows.total_rows > rows.rows.length);
  }, [rows]);
  if (base.provenance.timeline === "none")
    return (
      <div class="fill">
        <NoDeviceTimes overview={base} />
      </div>
    );
  return (
    <div class="fill" aria-busy={loaded !== resource.loaded}>
      <DataWarnings findings={base.provenance.warnings} figures={["kernels"]} />
      <Show resource={{ ...resource, loaded }}>
        {(result) => (
          <KernelTable
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
  const { filter, sort, selected: key } = state.value;
  const opened = result.rows.find((r) => String(r.longest_row) === key);
  return (
    <>
      <Table
        name="kernels"
        noun={texts.noun}
        nouns={texts.nouns}
        columns={columns}
        rows={result.rows}
        rowKey={(r) => keyOf(r, group)}
        sort={sort}
        defaultSort="-total_ns"
        filter={filter}
        inferred={inferred}
        selected={opened ? keyOf(opened, group) : null}
        onOpen={(r) => go({ event: `kernels/${r.longest_row}` })}
        onSort={(s) => go({ sort: s })}
        onFilter={(f) => go({ filter: f }, "replace")}
      >
        <Segmented
          label={texts.groupBy}
          value={group}
          onPick={(g) =>
            go({
              group: g === "operator" ? null : g,
              selected: null,
              ...fitting(sort, filter, columnsOf(inferred, result, g)),
            })
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
        <Notes result={result} />
      </Table>
      {opened && (
        <InstancesPanel
          selected={selected}
          of={{ view: "instances", index: opened.longest_row, group }}
          name={opened.name}
          calls={opened.calls}
          category={categoryOf(opened.kind)}
          step={step}
          inferred={inferred}
          close={() => go({ selected: null })}
        />
      )}
    </>
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
  return group === "launch" ? String(row.longest_row) : `${row.kind} ${row.name} ${row.operator ?? ""}`;
}

const columnsOf = (inferred: boolean, result: Result, group: Group): readonly Column<KernelRow>[] => {
  const isKnown = (key: keyof KernelRow): boolean => result.rows.some((r) => r[key] !== null);
  const columns: (Column<KernelRow> | false)[] = [
    { key: "name", ...heads.name, kind: "text", width: 280, value: (r) => r.name },
    {
      key: "kind",
      ...heads.kind,
      kind: "text",
      width: 140,
      value: (r) => r.kind,
      cell: (r) => (
        <span class="value">
          <i
            class={`swatch ${inferred ? (r.bounded_share === 1 ? "bounded" : "inferred") : ""}`}
            style={{ "--fill": color(categoryOf(r.kind)) }}
          />
          {r.kind}
        </span>
      ),
    },
    group !== "name" && {
      key: "operator",
      ...heads.operator,
      kind: "text",
      width: 180,
      value: (r) => r.operator,
      cell: (r) => <Operator row={r} />,
    },
    group === "launch" && { key: "grid", ...heads.grid, kind: "text", width: 112, value: (r) => r.grid },
    group === "launch" && { key: "block", ...heads.block, kind: "text", width: 104, value: (r) => r.block },
    group === "launch" && {
      key: "registers",
      ...heads.registers,
      kind: "count",
      width: 80,
      value: (r) => r.registers,
    },
    group === "launch" && {
      key: "shared_bytes",
      ...heads.shared,
      kind: "bytes",
      width: 80,
      value: (r) => r.shared_bytes,
    },
    {
      key: "share",
      ...heads.share,
      kind: "share",
      width: 136,
      additive: true,
      value: (r) => r.share,
      bar: (r) => categoryOf(r.kind),
      bounded: (r) => r.bounded_share,
      bound: (r) => (r.bound_ns === null ? null : r.total_ns === 0 ? 0 : (r.bound_ns / r.total_ns) * r.share),
    },
    {
      key: "total_ns",
      ...heads.total,
      kind: "time",
      width: 76,
      additive: true,
      value: (r) => r.total_ns,
      bound: (r) => r.bound_ns,
    },
    {
      key: "calls",
      ...heads.calls,
      kind: "count",
      width: 76,
      additive: true,
      value: (r) => r.calls,
      cell: (r) => (
        <a
          class="value"
          data-testid="drill"
          {...linkProps({ selected: String(r.longest_row) })}
          title={texts.showCalls}
        >
          {count(r.calls)}
        </a>
      ),
    },
    {
      key: "mean_ns",
      ...heads.mean,
      kind: "time",
      width: 76,
      value: (r) => r.mean_ns,
      bound: (r) => r.mean_bound_ns,
    },
    {
      key: "median_ns",
      ...heads.median,
      kind: "time",
      width: 76,
      value: (r) => r.median_ns,
      bound: (r) => r.median_bound_ns,
    },
    {
      key: "p95_ns",
      ...heads.p95,
      kind: "time",
      width: 76,
      value: (r) => r.p95_ns,
      bound: (r) => r.p95_bound_ns,
    },
    {
      key: "min_ns",
      ...heads.min,
      kind: "time",
      width: 76,
      value: (r) => r.min_ns,
      bound: (r) => r.min_bound_ns,
    },
    {
      key: "max_ns",
      ...heads.max,
      kind: "time",
      width: 76,
      value: (r) => r.max_ns,
      bound: (r) => r.max_bound_ns,
    },
    isKnown("occupancy") && {
      key: "occupancy",
      ...heads.occupancy,
      kind: "share",
      width: 84,
      optional: group !== "launch",
      value: (r) => r.occupancy,
    },
    isKnown("blocks_per_sm") && {
      key: "blocks_per_sm",
      ...heads.blocksPerSm,
      kind: "count",
      width: 104,
      optional: true,
      value: (r) => r.blocks_per_sm,
      cell: (r) => (
        <span class="value">
          {r.blocks_per_sm === null ? MISSING : Number(r.blocks_per_sm.toPrecision(3))}
        </span>
      ),
    },
    {
      key: "short_calls",
      ...heads.short,
      kind: "count",
      width: 76,
      additive: true,
      optional: true,
      help: texts.shorterThan(duration(result.short?.short_ns ?? 0)),
      value: (r) => r.short_calls,
    },
    result.matrix !== null && {
      key: "matrix_unit",
      title: result.matrix.unit,
      ...heads.matrix,
      kind: "text",
      width: 104,
      optional: true,
      value: (r) => (r.matrix_unit ? texts.yes : texts.no),
      code: (r) => (r.matrix_unit ? "yes" : "no"),
    },
  ];
  return columns.filter((c) => c !== false);
};

function Operator({ row }: { row: KernelRow }) {
  if (row.operator === null)
    return (
      <span class="value muted" title={texts.noOperator}>
        –
      </span>
    );
  return (
    <a
      class="value"
      {...linkProps({ view: "operators", filter: `name = ${quote(row.operator)}` })}
      title={texts.toOperator(row.operator)}
    >
      {row.operator}
    </a>
  );
}
