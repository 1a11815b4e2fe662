// The columns of the roofline page's lists.
import type { DistanceRow, Outlier, RooflineRow, RoofRow, UnknownWork } from "../../api/types";
import { categoryOf } from "../../lib/color";
import { MISSING, rate } from "../../lib/format";
import { linkProps } from "../../state/links";
import { t } from "../../i18n";
import { roofline } from "../../i18n/roofline";
import { derived, field, worded, type Column, rangeBound } from "../../widgets/table/columns";
import { columnOf } from "./distance-bar";
import { number, perSecond, scaled } from "./points";

const texts = roofline;
const heads = texts.columns;

export type By = "operator" | "shape" | "module" | "kernel";

const DISTANCES: readonly DistanceRow["distance"][] = [
  "above_80",
  "above_50",
  "above_20",
  "below_20",
  "no_roof",
  "unknown",
];

/** `named` is the column of the order: a time at a distance stands beside the share then. */
export function pointColumns(
  by: By,
  named: string | null,
  rows: readonly RooflineRow[],
): readonly Column<RooflineRow>[] {
  const times = DISTANCES.map((d) => timeColumn(d, named));
  const known = rows.some((r) => r.flops !== null || r.bytes !== null);
  return [
    ...identityColumns(by),
    ...(known ? ROOF_OF : []),
    field("share", heads.share, "share", 124, {
      additive: true,
      bar: (r) => categoryOf(r.kind),
      bounded: (r) => r.bounded_share,
      bound: (r) =>
        r.device_bound_ns === null || r.device_ns === 0 ? null : (r.device_bound_ns / r.device_ns) * r.share,
    }),
    field("device_ns", heads.device, "time", 76, { additive: true, bound: (r) => r.device_bound_ns }),
    ...times.filter((c) => !c.optional),
    field("calls", heads.calls, "count", 64, { additive: true }),
    ...(known ? FIGURES : []),
    ...times.filter((c) => c.optional),
  ];
}

/** The name; of what belongs to no module that. */
export const titleOf = ({ name }: RooflineRow): string => name || texts.noModule;

/** What tells a row from the others. */
function identityColumns(by: By): Column<RooflineRow>[] {
  if (by !== "shape") return [{ key: "name", title: texts.by[by], kind: "text", width: 200, value: titleOf }];
  return [
    field("name", { title: texts.by.operator }, "text", 160),
    field("input_shapes", heads.shapes, "text", 200, {
      cell: (r) => (
        <span class="value" title={r.input_shapes ?? ""}>
          {r.input_shapes ?? MISSING}
        </span>
      ),
    }),
  ];
}

const ROOF_OF: readonly Column<RooflineRow>[] = [
  field("roof", heads.roof, "text", 92),
  field("dtype", heads.dtype, "text", 72, { optional: true }),
  worded("limit", heads.limit, 84, (r) => r.limit && texts.limits[r.limit]),
];

const FIGURES: readonly Column<RooflineRow>[] = [
  field("roof_share", heads.roofShare, "share", 76, {
    bound: (r) => rangeBound(r.roof_share, r.roof_share_low, r.roof_share_high),
  }),
  field("above_roof_ns", heads.aboveRoof, "time", 80, {
    additive: true,
    bound: (r) => rangeBound(r.above_roof_ns, r.above_roof_low_ns, r.above_roof_high_ns),
  }),
  withUnit(
    "tflop_per_s",
    heads.flopRate,
    (r) => r.tflop_per_s,
    (v) => scaled(v * 1e12),
  ),
  withUnit(
    "gb_per_s",
    heads.byteRate,
    (r) => r.gb_per_s,
    (v) => rate(v * 1e9),
  ),
  withUnit("flops_per_byte", heads.intensity, (r) => r.flops_per_byte, number),
  field("flops", heads.flops, "count", 104, { optional: true, additive: true }),
  field("bytes", heads.bytes, "bytes", 88, { optional: true, additive: true }),
];

/** The part of a row's time at one distance; shown while the table is in its order. */
function timeColumn(distance: DistanceRow["distance"], named: string | null): Column<RooflineRow> {
  const { names, help } = texts.distance;
  return field(columnOf(distance), { title: names[distance], help: help[distance] }, "time", 96, {
    additive: true,
    optional: columnOf(distance) !== named,
  });
}

function withUnit(
  key: "tflop_per_s" | "gb_per_s" | "flops_per_byte",
  head: { title: string; help: string },
  value: (row: RooflineRow) => number | null,
  shown: (value: number) => string,
): Column<RooflineRow> {
  return field<RooflineRow>(key, head, "count", 84, {
    cell: (row) => {
      const one = value(row);
      return <span class="value">{one === null ? MISSING : shown(one)}</span>;
    },
  });
}

export const OUTLIERS: readonly Column<Outlier>[] = [
  derived("name", heads.outlier, "text", 170, (r) => r.name || texts.device, {
    cell: (r) => (
      <a
        class="value"
        {...linkProps({ view: "timeline", item: `kernels:${r.longest_row}` })}
        title={t.inspector.toTimeline}
      >
        {r.name || texts.device}
      </a>
    ),
  }),
  worded("kind", heads.kind, 128, (r) => texts.kinds[r.kind].title, {
    cell: (r) => (
      <span class="value" title={texts.kinds[r.kind].help}>
        {texts.kinds[r.kind].title}
      </span>
    ),
  }),
  field("input_shapes", heads.shapes, "text", 150, {
    cell: (r) => (
      <span class="value" title={r.input_shapes ?? ""}>
        {r.input_shapes ?? MISSING}
      </span>
    ),
  }),
  field("factor", heads.factor, "count", 64, {
    cell: (r) => <span class="value">{texts.times(number(r.factor))}</span>,
  }),
  field("extra_ns", heads.extra, "time", 76),
  field("calls", heads.calls, "count", 60),
  field("median_ns", heads.median, "time", 72),
  field("expected_ns", heads.expected, "time", 76),
  field("evidence", heads.evidence, "text", 330, {
    cell: (r) => (
      <span class="value" title={`${r.evidence}\n${r.check}`}>
        {r.evidence}
      </span>
    ),
  }),
  field("check", heads.check, "text", 320, { optional: true }),
  field("device_ns", heads.device, "time", 84, { optional: true }),
  field("peer_shapes", heads.peer, "text", 200, { optional: true }),
  field("kernel", heads.kernel, "text", 200, { optional: true }),
  field("peer_kernel", heads.peerKernel, "text", 200, { optional: true }),
];

export const UNKNOWN: readonly Column<UnknownWork>[] = [
  field("name", heads.name, "text", 400),
  field("share", heads.share, "share", 136, { additive: true, bar: () => "other" }),
  field("device_ns", heads.device, "time", 96, { additive: true }),
  field("calls", heads.calls, "count", 84, { additive: true }),
];

export const ROOFS: readonly Column<RoofRow>[] = [
  worded("name", heads.roof, 200, (r) => (r.kind === "memory" ? texts.chart.memory : r.name)),
  field("rate", heads.rate, "count", 120, { cell: (r) => <Rate value={r.rate} roof={r} /> }),
  field("reachable", heads.reachable, "count", 136, { cell: (r) => <Rate value={r.reachable} roof={r} /> }),
  worded("source", heads.source, 170, (r) => texts.sources[r.source]),
  field("device_ns", heads.under, "time", 136),
];

function Rate({ value, roof }: { value: number | null; roof: RoofRow }) {
  return <span class="value">{value === null ? MISSING : perSecond(value, roof.kind === "memory")}</span>;
}
