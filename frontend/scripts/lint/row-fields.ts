// Every field of a table's rows is used by its page: a new column of the server is not forgotten there.
import type { Sources } from "./sources";

/** The page of each row, by its type in `api/types.ts`. */
const PAGES: Readonly<Record<string, string>> = {
  AdviceRow: "advice",
  AxisRow: "distributed",
  CollectiveRow: "distributed",
  CounterRow: "counters",
  DiffRow: "diff",
  ExpertRow: "distributed",
  Gain: "whatif",
  GroupRow: "distributed",
  HistoryRow: "history",
  KernelRow: "kernels",
  MemoryOperator: "memory",
  ModuleRow: "modules",
  NodeRow: "distributed",
  OperatorRow: "operators",
  PathRow: "whatif",
  RankRow: "distributed",
  RooflineRow: "roofline",
  RuntimeRow: "runtime",
  StageRow: "distributed",
};

/** Fields that no page shows, and why. */
const NOT_SHOWN: Readonly<Record<string, string>> = {
  "DiffRow.base_flops": "their rates are shown",
  "DiffRow.now_flops": "their rates are shown",
  "DiffRow.base_roof_share": "its rates are shown",
  "DiffRow.now_roof_share": "its rates are shown",
  "HistoryRow.first_step": "the range of steps is shown by their number",
  "HistoryRow.missing_streams": "the utilization is marked: its greatest value is not known",
  "HistoryRow.memory_device": "the peak is shown",
};

export function rowFields(sources: Sources): string[] {
  const types = sources.get("api/types.ts") ?? "";
  return Object.entries(PAGES).flatMap(([row, page]) => {
    const used = [...sources]
      .filter(([file]) => file.startsWith(`pages/${page}/`) || file.startsWith("pages/shared/"))
      .map(([, text]) => text)
      .join("\n");
    return fieldsOf(types, row)
      .filter((field) => !isUsed(field, used) && !(`${row}.${field}` in NOT_SHOWN))
      .map((field) => `pages/${page}: nothing shows the field ${field} of ${row}`);
  });
}

function fieldsOf(types: string, row: string): string[] {
  const body = new RegExp(`export interface ${row} \\{\\n(.*?)\\n\\}`, "s").exec(types)?.[1] ?? "";
  return [...body.matchAll(/^ {2}(\w+):/gm)].map(([, field]) => field ?? "");
}

/** Whether a text has the name, or its stem where the unit is put behind it: `${name}_bound_ns`. */
function isUsed(field: string, text: string): boolean {
  return [field, field.replace(/(_bound)?_ns$/, "")].some((name) => new RegExp(`\\b${name}\\b`).test(text));
}
