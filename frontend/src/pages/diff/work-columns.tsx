// Work and rates of both traces, one beside the other: the same work on another device.
import type { DiffRow } from "../../api/types";
import { count, MISSING, percent } from "../../lib/format";
import { t } from "../../i18n";
import { compare } from "../../i18n/compare";
import { field, type Column } from "../../widgets/table/columns";
import { byteRate, withUnit } from "../shared/work";

const texts = compare.diffTables;
const heads = t.work.columns;
const SIDES = ["base", "now"] as const;

type Figure = "flops" | "tflop_per_s" | "gb_per_s" | "roof_share";

const FIGURES: readonly [Figure, { title: string; help: string }, (value: number | null) => string][] = [
  ["flops", heads.flops, (n) => (n === null ? MISSING : count(n))],
  ["tflop_per_s", heads.flopRate, (n) => withUnit(n, "TFLOP/s")],
  ["gb_per_s", heads.byteRate, byteRate],
  ["roof_share", heads.roofShare, percent],
];

/** Columns of what either trace has; FLOPs are per step. */
export function comparedWork(rows: readonly DiffRow[]): Column<DiffRow>[] {
  const some = rows.some((r) =>
    SIDES.some((side) => r[`${side}_tflop_per_s`] !== null || r[`${side}_gb_per_s`] !== null),
  );
  if (!some) return [];
  return FIGURES.flatMap(([figure, head, text]) =>
    SIDES.map((side) => {
      const key = `${side}_${figure}` as const;
      const words = { title: texts.ofSide[side](head.title), help: head.help };
      return field<DiffRow>(key, words, figure === "roof_share" ? "share" : "count", 112, {
        optional: true,
        cell: (r) => <span class="value">{text(r[key] as number | null)}</span>,
      });
    }),
  );
}
