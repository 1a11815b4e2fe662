// The rows of a table that may have more than a page takes: then the server finds and sorts them.
import { useEffect, useState } from "preact/hooks";
import { SORTS } from "../api/sorts";
import type { Options, Results } from "../api/types";
import { firstWord } from "../lib/filter";
import type { Column } from "../widgets/table/columns";
import type { Selected } from "./selection";
import { state } from "./url";
import { useLatest, useView, type Latest } from "./use-result";

/** Views whose rows the server both finds and sorts. */
type View = "kernels" | "operators";
type Row<V extends View> = Results[V]["rows"][number];

/** Returns a view's result for the filter and the order in the URL. While it is searched or sorted, the
 * last one stays: what is typed must not lose its field. `columnsOf` has the columns of the result. */
export function useServerTable<V extends View>(
  view: V,
  selected: Selected,
  group: NonNullable<Options[V]["group"]>,
  columnsOf: (result: Results[V]) => readonly Column<Row<V>>[],
): Latest<Results[V]> {
  const { filter, sort } = state.value;
  // The last result, if rows are missing there.
  const [part, setPart] = useState<Results[V] | null>(null);
  const find = part && filter !== null ? firstWord(filter, columnsOf(part)) : null;
  const [key = ""] = (part && sort?.split(",")) ?? [];
  const sorts: readonly string[] = SORTS[view];
  const options: object = {
    group,
    ...(find !== null && { find }),
    ...(sorts.includes(key.replace(/^-/, "")) && { sort: key }),
  };
  const latest = useLatest(
    useView(view, selected, options as Options[V]),
    JSON.stringify([selected.place, group]),
  );
  const result = latest.loaded.status === "ready" ? latest.loaded.value : null;
  useEffect(() => {
    if (result) setPart(isPart(result) ? result : null);
  }, [result]);
  return latest;
}

const isPart = ({ rows, total_rows, others }: Results[View]): boolean =>
  others !== null || total_rows > rows.length;
