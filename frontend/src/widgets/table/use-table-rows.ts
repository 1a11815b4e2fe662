// The rows of a table as they are shown: filtered, sorted, and in the order of the tree.
import { useMemo } from "preact/hooks";
import {
  filterRows,
  parseSort,
  readFilter,
  sortRows,
  treeOrder,
  withAncestors,
  type Column,
  type Tree,
} from "./columns";

interface Source<Row> {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  sort: string | null;
  defaultSort: string;
  tree?: Tree<Row>;
}

/** The rows by their numbers. */
export type TableRows = ReturnType<typeof useTableRows>;

export function useTableRows<Row>(
  { columns, rows, sort, defaultSort, tree }: Source<Row>,
  expression: string,
) {
  const keys = useMemo(() => parseSort(sort ?? defaultSort, columns), [sort, defaultSort, columns]);
  const parsed = useMemo(() => readFilter(expression, columns), [expression, columns]);
  const chosen = useMemo(() => filterRows(rows, parsed, columns), [rows, parsed, columns]);
  const around = tree?.parents;
  // What a filter finds in a tree stands where it is, whatever is closed.
  const filtered = (parsed.terms?.length ?? 0) > 0;
  const sorted = useMemo(
    () => sortRows(rows, around && filtered ? withAncestors(around, chosen) : chosen, keys, columns),
    [rows, chosen, keys, columns, around, filtered],
  );
  const order = useMemo(
    () => (tree ? treeOrder(tree.parents, sorted, (i) => filtered || tree.isOpen(rows[i] as Row)) : sorted),
    [tree, sorted, filtered, rows],
  );
  const parents = useMemo(() => new Set(sorted.map((row) => around?.[row])), [sorted, around]);
  const largest = useMemo(() => largestByColumn(rows, columns), [rows, columns]);
  return { keys, parsed, chosen, filtered, sorted, order, parents, largest };
}

/** The value whose bar is full, by column. */
export function largestByColumn<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): ReadonlyMap<string, number> {
  const barred = columns.filter((c) => c.bar);
  const own = new Map(barred.map((c) => [c.key, largestOf(rows, c)]));
  const shared = (column: Column<Row>): number =>
    Math.max(
      ...barred
        .filter((c) => c === column || (column.scale !== undefined && c.scale === column.scale))
        .map((c) => own.get(c.key) ?? 1),
    );
  return new Map(barred.map((c) => [c.key, shared(c)]));
}

/** With its bound, whose whisker is in the scale, too. Not Math.max(...): an argument list has a limit,
 * rows have none. Never 0, as it divides. */
function largestOf<Row>(rows: readonly Row[], column: Column<Row>): number {
  return (
    rows.reduce(
      (most, row) => Math.max(most, Number(column.value(row) ?? 0) + (column.bound?.(row) ?? 0)),
      0,
    ) || 1
  );
}
