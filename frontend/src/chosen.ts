// Which columns the tables show: in the URL for the table last changed, and in the browser for all.
import { go, state } from "./state";
import type { ColumnMemory } from "./widgets/columnchooser";

const KEY = "tb_privateuse1.columns.";

export const columnMemory: ColumnMemory = {
  get: (table) => {
    const told = state.value.columns;
    return told?.startsWith(`${table}:`) ? told.slice(table.length + 1) || null : stored(table);
  },
  set: (table, choice) => {
    try {
      if (choice === null) localStorage.removeItem(KEY + table);
      else localStorage.setItem(KEY + table, choice);
    } catch {
      // A browser that stores nothing for this page: the URL has it.
    }
    go({ columns: choice === null ? null : `${table}:${choice}` }, "replace");
  },
};

function stored(table: string): string | null {
  try {
    return localStorage.getItem(KEY + table);
  } catch {
    return null;
  }
}
