// The axes of parallelism and their process groups, as tables.
import type { AxisRow, Distributed as Result, GroupRow } from "../../api/types";
import { bytes, MISSING, rate } from "../../lib/format";
import { parallelism as texts } from "../../i18n/parallelism";
import { derived, field, worded, type Column } from "../../widgets/table/columns";

/** What axes and process groups have in common. */
type Calls = Pick<
  GroupRow,
  | "calls"
  | "call_ns"
  | "exposed_ns"
  | "transferring_ns"
  | "synchronizing_ns"
  | "bytes"
  | "matched"
  | "bus_bytes_per_s"
>;

const callColumns = <Row extends Calls>(): readonly Column<Row>[] => {
  const columns: readonly Column<Calls>[] = [
    field("exposed_ns", texts.exposed, "time", 112),
    field("call_ns", texts.calls, "time", 92),
    field("transferring_ns", texts.transferring, "time", 92),
    field("synchronizing_ns", texts.synchronizing, "time", 84),
    field("calls", texts.count, "count", 72),
    field("bytes", texts.bytes, "bytes", 92, {
      cell: (r) => <span class="value">{bytes(r.bytes)}</span>,
    }),
    field("bus_bytes_per_s", texts.bus, "bytes", 100, {
      cell: (r) => (
        <span class="value">
          {r.matched === 0 && r.bus_bytes_per_s !== null && "≥ "}
          {rate(r.bus_bytes_per_s)}
        </span>
      ),
    }),
  ];
  return columns as unknown as readonly Column<Row>[];
};

const placement = <Row extends Pick<GroupRow, "placement">>(): Column<Row> =>
  derived("placement", texts.placement, "text", 110, (r) => texts.placements[r.placement], {
    code: (r) => r.placement,
  });

/** The columns of the axes: their shares are of the exposed communication of all. */
export function axisColumns(rows: Result["axes"]): readonly Column<AxisRow>[] {
  const whole = rows.reduce((sum, r) => sum + (r.exposed_ns ?? 0), 0);
  const [exposed, ...others] = callColumns<AxisRow>();
  return [
    field("axis", texts.axis, "text", 190, {
      cell: (r) => (
        <span class="value">
          {r.axis}
          {r.description !== null && <span class="muted"> {r.description}</span>}
        </span>
      ),
    }),
    worded("evidence", texts.evidence, 130, (r) => texts.evidences[r.evidence]),
    field("groups", texts.groups, "count", 70),
    field("size", texts.size, "count", 64),
    placement(),
    ...(exposed ? [exposed] : []),
    derived(
      "exposed_share",
      texts.share,
      "share",
      150,
      (r) => (whole > 0 && r.exposed_ns !== null ? r.exposed_ns / whole : null),
      { bar: () => "communication" },
    ),
    ...others,
    derived(
      "collectives",
      { title: texts.kinds },
      "text",
      170,
      (r) => r.collectives.map((kind) => kind.replace(/_/g, "-")).join(", ") || MISSING,
    ),
    field("slowest_group", texts.slowest, "text", 120),
    field("slowest_ns", texts.slowestTime, "time", 92),
    field("median_ns", texts.median, "time", 92),
  ];
}

export const GROUP_COLUMNS: readonly Column<GroupRow>[] = [
  field("name", texts.group, "text", 150, {
    cell: (r) => (
      <span class="value">
        {r.name || MISSING}
        {r.description !== null && <span class="muted"> {r.description}</span>}
      </span>
    ),
  }),
  field("axis", texts.axis, "text", 150),
  field("ranks", texts.ranks, "text", 120),
  field("size", texts.size, "count", 64),
  field("members", texts.members, "count", 76),
  placement(),
  ...callColumns<GroupRow>(),
];
