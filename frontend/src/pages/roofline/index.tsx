// The roofline page: what the device reaches, against what it could.
import { useMemo } from "preact/hooks";
import type { Options, Roofline as Result, RooflineRow } from "../../api/types";
import { duration, percent } from "../../lib/format";
import { rowInTrace, type Selected } from "../../state/selection";
import { tableInUrl } from "../../state/table-in-url";
import { go, state } from "../../state/url";
import { traceOf, useLatest, useView } from "../../state/use-result";
import { t } from "../../i18n";
import { roofline } from "../../i18n/roofline";
import { CodeBlock } from "../../widgets/controls/code-block";
import { Segmented } from "../../widgets/controls/segmented";
import { filterRows, readFilter } from "../../widgets/table/columns";
import { Table } from "../../widgets/table/table";
import { TablePage } from "../shared/table-page";
import type { PageProps } from "../page-props";
import { RooflineChart } from "./chart";
import { OUTLIERS, pointColumns, ROOFS, titleOf, UNKNOWN, type By } from "./columns";
import { OutlierDetails, PointDetails, PointFacts } from "./details";
import { DistanceBar } from "./distance-bar";
import { isDotted } from "./layout";
import { keyOf, pointsOf, roofsOf, withinReach } from "./points";
import "./roofline.css";

const texts = roofline;

type DType = NonNullable<Options["roofline"]["dtype"]>;

const BY: readonly By[] = ["operator", "shape", "module", "kernel"];
const DTYPES: readonly DType[] = ["all", "fp64", "fp32", "bf16", "fp16", "fp8", "fp4", "int8"];
const LISTS = ["points", "outliers", "unknown", "roofs"] as const;
type List = (typeof LISTS)[number];

export function Roofline({ selected, base }: PageProps) {
  const by = BY.find((one) => one === state.value.by) ?? "operator";
  const dtype = DTYPES.find((one) => one === state.value.dtype) ?? "all";
  // From step to step and choice to choice what is shown stays until the next comes.
  const latest = useLatest(useView("roofline", selected, { by, dtype }), traceOf(selected.place));
  return (
    <TablePage latest={latest} base={base} figures={["kernels"]} isOfDevice class="roofline">
      {(result) => <Page {...{ result, by, dtype, selected }} step={rowInTrace(base, selected.place.step)} />}
    </TablePage>
  );
}

interface PartProps {
  result: Result;
  by: By;
  dtype: DType;
  selected: Selected;
}

function Page(props: PartProps & { step: number | null }) {
  const { result, by, dtype } = props;
  const { distances, modeled, provenance } = result;
  return (
    <>
      <div class="toolbar">
        <ShapeChoice by={by} />
        <DTypeChoice dtype={dtype} result={result} />
        <Summary result={result} />
      </div>
      {modeled.hint !== null ? <NoShapes hint={modeled.hint} /> : <NoSheet result={result} />}
      <DistanceBar distances={distances} inferred={provenance.timeline === "inferred"} />
      <Points {...props} />
    </>
  );
}

/** Points of operators with one for each shape. The tabs of the page choose other points. */
function ShapeChoice({ by }: { by: By }) {
  if (by !== "operator" && by !== "shape") return null;
  return (
    <Segmented
      label={texts.point}
      value={by}
      onPick={(to) => go({ by: to === "operator" ? null : to, selected: null })}
      choices={(["operator", "shape"] as const).map((value) => ({
        value,
        label: texts.by[value],
        title: texts.byHelp[value],
      }))}
    />
  );
}

/** The types that the roofs are given for, and the chosen one. */
function DTypeChoice({ dtype, result }: { dtype: DType; result: Result }) {
  const used = new Set(result.roofs.filter((r) => r.kind === "compute").map((r) => r.dtype));
  const some = DTYPES.filter((d) => d === "all" || d === dtype || used.has(d));
  if (some.length < 3 && dtype === "all") return null;
  return (
    <label>
      {texts.dtype}{" "}
      <select
        class="quiet"
        value={dtype}
        data-testid="roofline-dtype"
        onChange={(e) =>
          go({ dtype: e.currentTarget.value === "all" ? null : e.currentTarget.value, selected: null })
        }
      >
        {some.map((d) => (
          <option key={d} value={d}>
            {d === "all" ? texts.allTypes : d}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The time above the roof, the most that perfect kernels could save. */
export function Summary({
  result: { device_ns, above_roof_ns, modeled, total_rows, rows, others_ns },
}: {
  result: Result;
}) {
  return (
    <>
      {above_roof_ns !== null && device_ns !== null && device_ns > 0 && (
        <span data-testid="roofline-stake" data-value={above_roof_ns} title={texts.stakeHelp}>
          {texts.stake(duration(above_roof_ns), percent(above_roof_ns / device_ns))}
        </span>
      )}
      {modeled.modeled_share !== null && (
        <span class="muted" data-testid="modeled" data-value={modeled.modeled_share}>
          {t.work.modeled(percent(modeled.modeled_share))}
        </span>
      )}
      {total_rows > rows.length && (
        <span class="muted">{texts.others(total_rows - rows.length, duration(others_ns))}</span>
      )}
    </>
  );
}

function NoShapes({ hint }: { hint: string }) {
  return (
    <aside class="notice" data-testid="roofline-no-shapes">
      <p>{hint}</p>
      <CodeBlock text={texts.recordShapes} />
    </aside>
  );
}

/** Without a data sheet, what the roofs are, and how to give them. */
function NoSheet({ result: { modeled } }: { result: Result }) {
  const { compute_source: compute, memory_source: memory } = modeled;
  if (compute !== "best_seen" && memory !== "best_seen" && (compute ?? memory) !== null) return null;
  return (
    <details class="nosheet" data-testid="roofline-no-sheet">
      <summary>{compute === null && memory === null ? texts.noRoofs : texts.bestSeen}</summary>
      <p>{texts.giveRoofs}</p>
      <CodeBlock text={texts.vendorFile} />
    </details>
  );
}

function Points({ result, by, selected, step }: PartProps & { step: number | null }) {
  const { rows, provenance } = result;
  const { filter, sort, selected: key } = state.value;
  const inferred = provenance.timeline === "inferred";
  const columns = useMemo(() => pointColumns(by, timeColumn(sort), rows), [by, sort, rows]);
  const byKey = useMemo(() => new Map(rows.map((r) => [keyOf(r), r])), [rows]);
  const list = LISTS.find((one) => one === state.value.list) ?? "points";
  const shown = useMemo(() => {
    const parsed = readFilter((list === "points" && filter) || "", columns);
    return new Set(filterRows(rows, parsed, columns).map((i) => keyOf(rows[i] as RooflineRow)));
  }, [rows, columns, filter, list]);
  const opened = key === null || list !== "points" ? undefined : byKey.get(key);
  const some = opened !== undefined || outlierOf(result, list) !== undefined;
  const onSelect = (to: string): void =>
    go({
      selected: to === key ? null : to,
      ...(list !== "points" && { list: null, sort: null, filter: null }),
    });
  return (
    <>
      <Chart {...{ result, shown, onSelect }} selected={opened ? key : null} />
      <Lists
        {...{ result, by, list, columns, inferred }}
        selected={some ? key : null}
        onSelect={(to) => go({ selected: to === key ? null : to })}
      />
      <OpenDetails {...{ result, list, by, selected, step, inferred }} row={opened} />
    </>
  );
}

interface ChartProps {
  result: Result;
  /** The keys of the rows that are not pale. */
  shown: ReadonlySet<string>;
  selected: string | null;
  onSelect: (key: string) => void;
  /** Whether a table has the rows without a place on the chart. */
  hasTable?: boolean;
}

/** The chart with its note; nothing without a point that has a place on it. */
export function Chart({ result, shown, selected, onSelect, hasTable = true }: ChartProps) {
  const placed = useMemo(() => pointsOf(result), [result]);
  const points = useMemo(() => withinReach(placed), [placed]);
  const roofs = useMemo(() => roofsOf(result), [result]);
  const byKey = useMemo(() => new Map(result.rows.map((r) => [keyOf(r), r])), [result]);
  if (points.length === 0) return null;
  return (
    <div>
      <RooflineChart
        {...{ points, roofs, shown, selected, onSelect }}
        inferred={result.provenance.timeline === "inferred"}
        tooltip={(at) => <Tooltip row={byKey.get(at)} />}
      />
      <ChartNote
        {...{ result, hasTable }}
        outside={placed.length - points.length}
        dotted={roofs.some(isDotted)}
      />
    </div>
  );
}

/** The outlier that is open. */
const outlierOf = ({ outliers }: Result, list: List) =>
  list === "outliers" ? outliers.find((o) => outlierKey(o) === state.value.selected) : undefined;

const outlierKey = ({ kind, longest_row }: Result["outliers"][number]): string => `${kind} ${longest_row}`;

interface OpenDetailsProps {
  result: Result;
  list: List;
  by: By;
  selected: Selected;
  step: number | null;
  inferred: boolean;
  /** The open point. */
  row: RooflineRow | undefined;
}

function OpenDetails({ result, list, row, ...of }: OpenDetailsProps) {
  const outlier = outlierOf(result, list);
  if (outlier) return <OutlierDetails outlier={outlier} selected={of.selected} />;
  return row ? <PointDetails row={row} {...of} /> : null;
}

/** The column of the table's order, if it is one of the time at a distance. */
const timeColumn = (sort: string | null): string | null => sort?.replace(/^-/, "") ?? null;

function Tooltip({ row }: { row: RooflineRow | undefined }) {
  if (!row) return null;
  return (
    <>
      <b class="name">{titleOf(row)}</b>
      {row.input_shapes !== null && <div class="muted name">{row.input_shapes}</div>}
      <PointFacts row={row} />
    </>
  );
}

interface ChartNoteProps {
  result: Result;
  /** Points outside of the axes. */
  outside: number;
  dotted: boolean;
  hasTable: boolean;
}

/** What the marks are, and the rows without a place on the chart. */
function ChartNote({ result: { rows, device_ns }, outside, dotted, hasTable }: ChartNoteProps) {
  const apart = rows.filter((r) => (r.bytes ?? 0) > 0 && !((r.flops ?? 0) > 0));
  const ns = apart.reduce((sum, r) => sum + r.device_ns, 0);
  return (
    <p class="muted small" data-testid="roofline-note" data-value={outside}>
      {texts.marks} {dotted && texts.dotted} {outside > 0 && texts.outside(outside)}{" "}
      {hasTable && ns > 0 && texts.noFlops(apart.length, percent(device_ns ? ns / device_ns : null))}
    </p>
  );
}

interface ListsProps {
  result: Result;
  by: By;
  list: List;
  columns: ReturnType<typeof pointColumns>;
  inferred: boolean;
  selected: string | null;
  onSelect: (key: string) => void;
}

/** The lists below the chart, one at a time. */
function Lists({ result, by, list, columns, inferred, selected, onSelect }: ListsProps) {
  const common = { ...tableInUrl(), children: <ListChoice result={result} list={list} /> };
  switch (list) {
    case "points":
      return (
        <Table
          {...common}
          name="roofline"
          {...texts.nouns[by]}
          columns={columns}
          rows={result.rows}
          rowKey={keyOf}
          defaultSort="-device_ns"
          inferred={inferred}
          selected={selected}
          onOpen={(r) => onSelect(keyOf(r))}
        />
      );
    case "outliers":
      return (
        <Table
          {...common}
          name="outliers"
          {...texts.nouns.outlier}
          columns={OUTLIERS}
          rows={result.outliers}
          rowKey={outlierKey}
          defaultSort="-extra_ns"
          selected={selected}
          onOpen={(r) => onSelect(outlierKey(r))}
        />
      );
    case "unknown":
      return (
        <Table
          {...common}
          name="unknown-work"
          {...texts.nouns.unknown}
          columns={UNKNOWN}
          rows={result.unknown}
          rowKey={(r) => r.name}
          defaultSort="-device_ns"
        />
      );
    case "roofs":
      return (
        <Table
          {...common}
          name="roofs"
          {...texts.nouns.roof}
          columns={ROOFS}
          rows={result.roofs}
          rowKey={(r) => r.name}
          defaultSort="-rate"
        />
      );
  }
}

function ListChoice({ result, list }: { result: Result; list: List }) {
  const { outliers, unknown, roofs, total_rows } = result;
  const counts: Record<List, number> = {
    points: total_rows,
    outliers: outliers.length,
    unknown: unknown.length,
    roofs: roofs.length,
  };
  return (
    <Segmented
      label={texts.list}
      value={list}
      onPick={(to) => go({ list: to === "points" ? null : to, sort: null, filter: null, selected: null })}
      choices={LISTS.map((value) => ({
        value,
        label: texts.lists[value].title(counts[value]),
        title: texts.lists[value].help,
      }))}
    />
  );
}
