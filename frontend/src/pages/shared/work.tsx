// Columns of FLOPs, bytes and roofs, and the line that says how much of the time has them.
import type { KernelTable } from "../../api/types";
import { MISSING, percent, rate } from "../../lib/format";
import { t } from "../../i18n";
import { field, type Column } from "../../widgets/table/columns";

const texts = t.work;
const heads = texts.columns;

interface WorkRow {
  flops: number | bigint | null;
  bytes: number | bigint | null;
  tflop_per_s: number | null;
  gb_per_s: number | null;
  flops_per_byte: number | null;
  roof_share: number | null;
  above_roof_ns: number | null;
}

/** Columns of what the rows have; empty without any model. Rows within rows do not add up. */
export function workColumns<Row extends WorkRow>(rows: readonly Row[], additive = true): Column<Row>[] {
  if (rows.every((r) => r.flops === null && r.bytes === null)) return [];
  const columns: Column<WorkRow>[] = [
    field("flops", heads.flops, "count", 104, { optional: true, additive }),
    field("bytes", heads.bytes, "bytes", 88, { optional: true, additive }),
    number("tflop_per_s", heads.flopRate, "TFLOP/s"),
    field("gb_per_s", heads.byteRate, "count", 96, {
      optional: true,
      cell: (r) => <span class="value">{byteRate(r.gb_per_s)}</span>,
    }),
    number("flops_per_byte", heads.intensity, "FLOP/B"),
    field("roof_share", heads.roofShare, "share", 88, { optional: true }),
    field("above_roof_ns", heads.aboveRoof, "time", 104, { optional: true, additive }),
  ];
  return columns;
}

export const byteRate = (gbPerS: number | null): string => (gbPerS === null ? MISSING : rate(gbPerS * 1e9));
export const withUnit = (value: number | null, unit: string): string =>
  value === null ? MISSING : `${Number(value.toPrecision(3))} ${unit}`;

function number(
  key: "tflop_per_s" | "flops_per_byte",
  head: { title: string; help: string },
  unit: string,
): Column<WorkRow> {
  return field<WorkRow>(key, head, "count", 104, {
    optional: true,
    cell: (r) => <span class="value">{withUnit(r[key], unit)}</span>,
  });
}

/** Where the roofs are from; of several sources, which types have which. */
function sourceOf({ compute_source, compute_sources, memory_source }: KernelTable["modeled"]): string {
  if (compute_source !== "mixed") return texts.roofs[compute_source ?? memory_source ?? "none"];
  const types = (source: "data_sheet" | "user_file" | "best_seen"): string[] =>
    compute_sources
      .filter((one) => one.source === source)
      .map((one) => (one.matrix ? one.dtype : texts.withoutUnit(one.dtype)));
  return (["data_sheet", "user_file", "best_seen"] as const)
    .map((source) => ({ source, names: types(source) }))
    .filter(({ names }) => names.length > 0)
    .map(({ source, names }) => texts.roofsOf[source](names.join(", ")))
    .join(" ");
}

/** The share of device time with a model, or how to record what it needs. */
export function ModeledNote({ modeled }: { modeled: KernelTable["modeled"] }) {
  if (modeled.modeled_share === null) return null;
  if (modeled.hint !== null)
    return (
      <span class="muted" data-testid="no-shapes">
        {modeled.hint}
      </span>
    );
  return (
    <span
      class="muted"
      data-testid="modeled"
      data-value={modeled.modeled_share}
      title={texts.modeledHelp(sourceOf(modeled))}
    >
      {texts.modeled(percent(modeled.modeled_share))}
    </span>
  );
}
