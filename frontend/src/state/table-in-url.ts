// The order and the filter of a page's table, which are in the URL.
import { go, state } from "./url";

export interface TableInUrl {
  sort: string | null;
  filter: string | null;
  onSort: (sort: string | null) => void;
  onFilter: (filter: string | null) => void;
}

/** Reads them now, so that what calls it is drawn again when they change. */
export function tableInUrl(): TableInUrl {
  const { sort, filter } = state.value;
  return {
    sort,
    filter,
    onSort: (next) => go({ sort: next }),
    onFilter: (next) => go({ filter: next }, "replace"),
  };
}
