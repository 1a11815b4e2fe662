// Which columns the tables show: in the URL for tables that were changed on this page, and in the
// browser for all.
import { go, state } from "./state";
import type { ColumnMemory } from "./widgets/columnchooser";

const KEY = "tb_privateuse1.columns.";

export const columnMemory: ColumnMemory = {
  get: (table) => {
    const told = inUrl().get(table);
    return told === undefined ? stored(table) : told || null;
  },
  set: (table, choice) => {
    try {
      if (choice === null) localStorage.removeItem(KEY + table);
      else localStorage.setItem(KEY + table, choice);
    } catch {
      // A browser that stores nothing for this page: the URL has it.
    }
    const tables = inUrl();
    if (choice === null) tables.delete(table);
    else tables.set(table, choice);
    go({ columns: [...tables].map(([name, columns]) => `${name}:${columns}`).join(";") || null }, "replace");
  },
};

/** The choices by table: `kernels:short_calls,-kind;instances:bound_ns`. */
function inUrl(): Map<string, string> {
  return new Map((state.value.columns ?? "").split(";").filter(Boolean).map((part) => {
    const [table = "", ...columns] = part.split(":");
    return [table, columns.join(":")];
  }));
}

function stored(table: string): string | null {
  try {
    return localStorage.getItem(KEY + table);
  } catch {
    return null;
  }
}
