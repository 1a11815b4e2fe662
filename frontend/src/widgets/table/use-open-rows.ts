// The open rows of a tree.
import { useCallback, useMemo, useState } from "preact/hooks";
import type { Tree } from "./columns";

export interface OpenRows<Row> {
  tree: Tree<Row>;
  /** Opens these rows and closes all others. */
  setAll: (names: ReadonlySet<string>) => void;
}

/** `nameOf` is a function of the module: it must not change from render to render. */
export function useOpenRows<Row extends { parent: number | null }>(
  rows: readonly Row[],
  nameOf: (row: Row) => string,
  openAtFirst: () => ReadonlySet<string>,
): OpenRows<Row> {
  const [open, setAll] = useState(openAtFirst);
  const parents = useMemo(() => rows.map((row) => row.parent), [rows]);
  const setOpen = useCallback(
    (row: Row, now: boolean): void =>
      setAll((before) => {
        const next = new Set(before);
        if (now) next.add(nameOf(row));
        else next.delete(nameOf(row));
        return next;
      }),
    [nameOf],
  );
  const tree = useMemo(
    () => ({ parents, isOpen: (row: Row) => open.has(nameOf(row)), setOpen }),
    [parents, open, nameOf, setOpen],
  );
  return { tree, setAll };
}
