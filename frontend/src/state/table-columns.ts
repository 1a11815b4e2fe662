// Which columns the tables show: in the URL for tables that were changed on this page, and in the
// browser for all.
import { go, state } from "./url";
import type { ColumnMemory } from "../widgets/table/column-chooser";

const KEY = "tb_privateuse1.columns.";

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
  get: (table) => (choices().has(table) ? inLink.get(table) : stored(table)),
  set: (table, choice) => {
    try {
      if (choice === null) localStorage.removeItem(KEY + table);
      else localStorage.setItem(KEY + table, choice);
    } catch {
      // A browser that stores nothing for this page: the URL has it.
    }
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

function stored(table: string): string | null {
  try {
    return localStorage.getItem(KEY + table);
  } catch {
    return null;
  }
}
