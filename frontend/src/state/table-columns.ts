// Which columns the tables show: in the URL for tables that were changed on this page, and in the
// browser for all.
import { store, stored } from "../preference";
import { go, state } from "./url";
import type { ColumnMemory } from "../widgets/table/column-chooser";

const keyOf = (table: string): string => `columns.${table}`;

/** In the URL alone: for tables whose columns have no meaning beyond it. */
export const inLink: ColumnMemory = {
  get: (table) => choices().get(table) || null,
  set: (table, choice) => {
    const tables = choices();
    if (choice === null) tables.delete(table);
    else tables.set(table, choice);
    go({ columns: [...tables].map(([name, columns]) => `${name}:${columns}`).join(";") || null }, "replace");
  },
};

export const columnMemory: ColumnMemory = {
  get: (table) => (choices().has(table) ? inLink.get(table) : stored(keyOf(table))),
  set: (table, choice) => {
    store(keyOf(table), choice);
    inLink.set(table, choice);
  },
};

/** The choices by table: `kernels:short_calls,-kind;instances:bound_ns`. */
function choices(): Map<string, string> {
  return new Map(
    (state.value.columns ?? "")
      .split(";")
      .filter(Boolean)
      .map((part) => {
        const [table = "", ...columns] = part.split(":");
        return [table, columns.join(":")];
      }),
  );
}
