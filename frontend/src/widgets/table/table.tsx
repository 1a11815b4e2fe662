// The table of every page: virtual rows, sticky head and foot, sort, filter, CSV, keyboard.
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { csv } from "../../lib/csv";
import { download } from "../../lib/dom";
import { t } from "../../i18n";
import {
  exported,
  formatSort,
  filterRows,
  nextSort,
  parseSort,
  readFilter,
  sortRows,
  treeOrder,
  withAncestors,
  type Column,
} from "./columns";
import { chosenColumns, ColumnChooser, ColumnMemoryContext } from "./column-chooser";
import { FilterBox } from "./filter-box";
import { Foot, Head, RowView, ROW_PX } from "./rows";
import { Filtered } from "./tree-toggle";

export interface TableProps<Row> {
  /** For tests and the CSV's file name. */
  name: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Unique among the rows. */
  rowKey: (row: Row) => string;
  /** The order and filter as the URL has them, null for the default. */
  sort: string | null;
  defaultSort: string;
  filter: string | null;
  onSort: (sort: string | null) => void;
  onFilter: (filter: string | null) => void;
  /** Click or Enter on a row. */
  onOpen?: (row: Row) => void;
  selected?: string | null;
  inferred?: boolean;
  /** What a row is: `operator`; `nouns` is more than one. */
  noun: string;
  nouns?: string;
  /** What it is a table of, where that is not its rows' name. */
  label?: string;
  /** Rows are a tree: what is around each row, and which rows show their children. */
  tree?: Tree<Row>;
  children?: ComponentChildren;
}

export interface Tree<Row> {
  /** The number of the row around each row. */
  parents: readonly (number | null)[];
  /** Where a row is, if its name alone does not tell: a column of the CSV. */
  path?: (row: Row) => string;
  isOpen: (row: Row) => boolean;
  setOpen: (row: Row, open: boolean) => void;
}

/** Rows above and below the visible ones that are drawn too, so that scrolling shows no gap. */
const MARGIN_ROWS = 12;

export function Table<Row>(props: TableProps<Row>) {
  const { columns, rows, sort, defaultSort, rowKey } = props;
  const [expression, setExpression] = useState(props.filter ?? "");
  const [active, setActive] = useState(-1);
  const [view, setView] = useState({ top: 0, height: 600 });
  const scroller = useRef<HTMLDivElement>(null);
  const grid = useRef<HTMLTableElement>(null);
  const id = useId();
  const remembered = useContext(ColumnMemoryContext);
  const choice = remembered.get(props.name);
  const visible = useMemo(() => chosenColumns(columns, choice), [columns, choice]);

  // The URL may change under us: Back, or a link from another page.
  useEffect(() => setExpression(props.filter ?? ""), [props.filter]);

  const keys = useMemo(() => parseSort(sort ?? defaultSort, columns), [sort, defaultSort, columns]);
  const parsed = useMemo(() => readFilter(expression, columns), [expression, columns]);
  const chosen = useMemo(() => filterRows(rows, parsed, columns), [rows, parsed, columns]);
  const { tree } = props;
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

  const largest = useMemo(
    () => new Map(columns.filter((c) => c.bar).map((c) => [c.key, largestOf(rows, c)])),
    [rows, columns],
  );

  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return undefined;
    const measure = (): void => setView({ top: box.scrollTop, height: box.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    measure();
    return () => observer.disconnect();
  }, []);

  const first = Math.max(0, Math.floor(view.top / ROW_PX) - MARGIN_ROWS);
  const last = Math.min(order.length, Math.ceil((view.top + view.height) / ROW_PX) + MARGIN_ROWS);

  const move = (to: number): void => {
    const box = scroller.current;
    const row = Math.max(0, Math.min(order.length - 1, to));
    setActive(row);
    if (!box) return;
    // The head and foot lie over the rows.
    const room = box.clientHeight - 3 * ROW_PX;
    if (row * ROW_PX < box.scrollTop) box.scrollTop = row * ROW_PX;
    else if (row * ROW_PX > box.scrollTop + room) box.scrollTop = row * ROW_PX - room;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== grid.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(view.height / ROW_PX) - 3);
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: order.length - 1,
    };
    const to = steps[event.key];
    const row = rows[order[active] ?? -1];
    if (to !== undefined) move(to);
    else if (tree && row !== undefined && (event.key === "ArrowRight" || event.key === "ArrowLeft"))
      turn(tree, row, event.key === "ArrowRight");
    else if (event.key === "Enter" && row !== undefined && props.onOpen) props.onOpen(row);
    else return;
    event.preventDefault();
  };
  /** Right opens, or goes to the first child; Left closes, or goes to the row around. */
  const turn = (of: Tree<Row>, row: Row, right: boolean): void => {
    const index = order[active] ?? -1;
    const open = parents.has(index) && (filtered || of.isOpen(row));
    if (right && open) move(active + 1);
    else if (right && parents.has(index)) of.setOpen(row, true);
    else if (!right && open && !filtered) of.setOpen(row, false);
    else if (!right) move(Math.max(0, order.indexOf(of.parents[index] ?? -1)));
  };
  const save = (): void => {
    // Rows of a tree in its order, whatever is closed.
    const chosen = (tree ? treeOrder(tree.parents, sorted, () => true) : order).map(
      (index) => rows[index] as Row,
    );
    const path: Column<Row>[] = tree?.path
      ? [{ key: "path", title: "", kind: "text", width: 0, value: tree.path }]
      : [];
    const { names, body } = exported([...path, ...visible], chosen);
    download(`${props.name}.csv`, csv(names, body), "text/csv;charset=utf-8");
  };

  const nouns = props.nouns ?? t.table.nouns(props.noun);
  const drawn = order.slice(first, last);
  const widths = visible.reduce((sum, c) => sum + c.width, 0);
  return (
    <Filtered.Provider value={filtered}>
      <div
        class="table"
        data-testid={`table-${props.name}`}
        data-rows={rows.length}
        data-shown={order.length}
      >
        <div class="toolbar">
          <FilterBox
            columns={columns}
            value={expression}
            error={parsed.error}
            noun={nouns}
            onInput={setExpression}
            onSettled={props.onFilter}
          />
          <span class="muted" data-testid="row-count">
            {t.table.rows(chosen.length, rows.length, props.noun, nouns)}
          </span>
          {props.children}
          <span class="push" />
          {columns.length > 2 && (
            <ColumnChooser
              columns={columns}
              choice={choice}
              onChoose={(c) => remembered.set(props.name, c)}
            />
          )}
          <button type="button" class="quiet" onClick={save} data-testid="csv" title={t.table.saveShown}>
            CSV
          </button>
        </div>
        <div
          class="scroller"
          ref={scroller}
          onScroll={(e) => setView({ top: e.currentTarget.scrollTop, height: e.currentTarget.clientHeight })}
        >
          <table
            ref={grid}
            style={{ minWidth: `${widths}px` }}
            tabIndex={0}
            role={tree ? "treegrid" : "grid"}
            aria-rowcount={order.length + 1}
            aria-label={t.table.label(props.label ?? nouns, props.onOpen !== undefined)}
            aria-activedescendant={active >= first && active < last ? `${id}-${active}` : undefined}
            onKeyDown={onKeyDown}
          >
            <colgroup>
              {visible.map((c, i) => (
                <col key={c.key} style={i === 0 ? {} : { width: `${c.width}px` }} />
              ))}
            </colgroup>
            <Head
              columns={visible}
              keys={keys}
              onSort={(column, add) => {
                const text = formatSort(nextSort(keys, column, add));
                props.onSort(text === defaultSort ? null : text);
              }}
            />
            <tbody>
              {first > 0 && <tr class="gap" aria-hidden="true" style={{ height: `${first * ROW_PX}px` }} />}
              {drawn.map((index, i) => {
                const row = rows[index] as Row;
                const key = rowKey(row);
                return (
                  <RowView
                    key={key}
                    id={`${id}-${first + i}`}
                    row={row}
                    rowKey={key}
                    columns={visible}
                    position={first + i}
                    active={first + i === active}
                    selected={key === props.selected}
                    inferred={props.inferred ?? false}
                    largest={(c) => largest.get(c.key) ?? 1}
                    {...(tree && parents.has(index) && { expanded: filtered || tree.isOpen(row) })}
                    {...(props.onOpen && { onOpen: props.onOpen })}
                  />
                );
              })}
              {last < order.length && (
                <tr
                  class="gap"
                  aria-hidden="true"
                  style={{ height: `${(order.length - last) * ROW_PX}px` }}
                />
              )}
            </tbody>
            {order.length > 1 && (
              <Foot
                columns={visible}
                rows={rows}
                order={tree ? chosen : order}
                all={chosen.length === rows.length}
              />
            )}
          </table>
          {order.length === 0 && (
            <p class="empty" data-testid="no-rows">
              {rows.length === 0 ? t.table.none(nouns) : t.table.noMatch(nouns)}{" "}
              {rows.length > 0 && (
                <button
                  type="button"
                  class="link"
                  onClick={() => {
                    setExpression("");
                    props.onFilter(null);
                  }}
                >
                  {t.table.clear}
                </button>
              )}
            </p>
          )}
        </div>
      </div>
    </Filtered.Provider>
  );
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
