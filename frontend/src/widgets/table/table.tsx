// The table of every page: virtual rows, sticky head and foot, sort, filter, CSV, keyboard.
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useId, useMemo, useState } from "preact/hooks";
import { csv } from "../../lib/csv";
import { download } from "../../lib/dom";
import { printing } from "../../lib/printing";
import { t } from "../../i18n";
import {
  columnsInUse,
  exported,
  formatSort,
  nextSort,
  treeOrder,
  withUniformOptional,
  type Column,
  type SortKey,
  type Tree,
} from "./columns";
import { WindowContext, type Windows } from "../window-context";
import { chosenColumns, ColumnChooser, ColumnMemoryContext } from "./column-chooser";
import { useGrid } from "./use-grid";
import { useTableRows, type TableRows } from "./use-table-rows";
import { FilterBox } from "./filter-box";
import { Foot, Head, RowView, ROW_PX } from "./rows";
import { Filtered } from "./tree-toggle";
import "./table.css";

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
  /** The keys of the selected rows, the latest one last. */
  selected?: string | readonly string[] | null;
  inferred?: boolean;
  /** Columns that say nothing of the rows are shown only if they are chosen. */
  hideUniform?: boolean;
  /** What a row is: `operator`; `nouns` is more than one. */
  noun: string;
  nouns?: string;
  /** What it is a table of, where that is not its rows' name. */
  label?: string;
  /** Rows are a tree: what is around each row, and which rows show their children. */
  tree?: Tree<Row>;
  children?: ComponentChildren;
}

export function Table<Row>(props: TableProps<Row>) {
  const { rows, tree } = props;
  const columns = useUsefulColumns(props);
  const [expression, setExpression] = useState(props.filter ?? "");
  const id = useId();
  const choice = useContext(ColumnMemoryContext).get(props.name);
  const visible = useMemo(() => chosenColumns(columns, choice), [columns, choice]);

  // The URL may change under us: Back, or a link from another page.
  useEffect(() => setExpression(props.filter ?? ""), [props.filter]);

  const shown = useTableRows(props, expression);
  const { order } = shown;
  const grid = useGrid({ ...props, ...shown });
  const { active, first, last } = grid;
  const nouns = props.nouns ?? t.table.nouns(props.noun);
  return (
    <Filtered.Provider value={shown.filtered}>
      <div
        class="table"
        data-testid={`table-${props.name}`}
        data-rows={rows.length}
        data-shown={order.length}
      >
        <Toolbar {...{ props, columns, shown, visible, nouns, expression, setExpression }} />
        <div class="scroller" ref={grid.scroller} onScroll={grid.onScroll}>
          <table
            ref={grid.grid}
            style={printing.value ? {} : { minWidth: `${visible.reduce((sum, c) => sum + c.width, 0)}px` }}
            tabIndex={0}
            role={tree ? "treegrid" : "grid"}
            aria-rowcount={order.length + 1}
            aria-label={t.table.label(props.label ?? nouns, props.onOpen !== undefined)}
            aria-activedescendant={active >= first && active < last ? `${id}-${active}` : undefined}
            onKeyDown={grid.onKeyDown}
          >
            <SortableHead props={props} columns={visible} keys={shown.keys} />
            <Body {...{ props, shown, grid, id }} columns={visible} />
            {order.length > 1 && (
              <Foot columns={visible} rows={rows} {...totalsOf(shown, rows.length, tree !== undefined)} />
            )}
          </table>
          {printing.value && last < order.length && (
            <p data-testid="printed-rows">{t.table.printed(last, order.length, nouns)}</p>
          )}
          {order.length === 0 && (
            <NoRows
              rows={rows.length}
              nouns={nouns}
              clear={() => {
                setExpression("");
                props.onFilter(null);
              }}
            />
          )}
        </div>
      </div>
    </Filtered.Provider>
  );
}

/** The rows that the foot sums: in a tree those that the filter finds, as these alone count once. */
function totalsOf({ chosen, order }: TableRows, rows: number, tree: boolean) {
  return { order: tree ? chosen : order, all: chosen.length === rows };
}

/** All columns; those that say nothing may be optional. */
function useUsefulColumns<Row>(props: TableProps<Row>) {
  const { columns, rows, sort, defaultSort, filter, hideUniform = false } = props;
  return useMemo(
    () =>
      hideUniform
        ? withUniformOptional(columns, rows, columnsInUse(sort ?? defaultSort, filter, columns))
        : columns,
    [columns, rows, sort, defaultSort, filter, hideUniform],
  );
}

interface ToolbarProps<Row> {
  props: TableProps<Row>;
  columns: readonly Column<Row>[];
  shown: TableRows;
  /** The columns that are shown. */
  visible: readonly Column<Row>[];
  nouns: string;
  expression: string;
  setExpression: (expression: string) => void;
}

/** The filter, how many rows it leaves, what the page adds, the choice of columns, and CSV. */
function Toolbar<Row>({
  props,
  columns,
  shown,
  visible,
  nouns,
  expression,
  setExpression,
}: ToolbarProps<Row>) {
  const { name, rows } = props;
  const remembered = useContext(ColumnMemoryContext);
  const windows = useContext(WindowContext);
  return (
    <div class="toolbar">
      <FilterBox
        columns={columns}
        value={expression}
        error={shown.parsed.error}
        noun={nouns}
        onInput={setExpression}
        onSettled={props.onFilter}
      />
      <span class="muted" data-testid="row-count">
        {t.table.rows(shown.chosen.length, rows.length, props.noun, nouns)}
      </span>
      {props.children}
      <span class="push number">
        {columns.length > 2 && (
          <ColumnChooser
            columns={columns}
            choice={remembered.get(name)}
            onChoose={(c) => remembered.set(name, c)}
          />
        )}{" "}
        <button
          type="button"
          class="quiet"
          onClick={() => save(props, shown, visible, windows)}
          data-testid="csv"
          title={t.table.saveShown}
        >
          CSV
        </button>
      </span>
    </div>
  );
}

/** Downloads the rows that are shown; those of a tree in its order, whatever is closed. */
function save<Row>(
  { name, rows, tree }: TableProps<Row>,
  { sorted, order }: TableRows,
  columns: readonly Column<Row>[],
  windows: Windows,
): void {
  const chosen = (tree ? treeOrder(tree.parents, sorted, () => true) : order).map(
    (index) => rows[index] as Row,
  );
  const path: Column<Row>[] = tree?.path
    ? [{ key: "path", title: "", kind: "text", width: 0, value: tree.path }]
    : [];
  const { names, body } = exported([...path, ...columns], chosen);
  download(`${name}.csv`, csv(names, body, windows), "text/csv;charset=utf-8");
}

interface SortableHeadProps<Row> {
  props: TableProps<Row>;
  columns: readonly Column<Row>[];
  keys: readonly SortKey[];
}

function SortableHead<Row>({ props, columns, keys }: SortableHeadProps<Row>) {
  return (
    <>
      <colgroup>
        {columns.map((c, i) => (
          <col key={c.key} style={i === 0 || printing.value ? {} : { width: `${c.width}px` }} />
        ))}
      </colgroup>
      <Head
        columns={columns}
        keys={keys}
        onSort={(column, add) => {
          const text = formatSort(nextSort(keys, column, add));
          props.onSort(text === props.defaultSort ? null : text);
        }}
      />
    </>
  );
}

interface BodyProps<Row> {
  props: TableProps<Row>;
  columns: readonly Column<Row>[];
  shown: TableRows;
  grid: Pick<ReturnType<typeof useGrid>, "active" | "first" | "last">;
  /** Of the table; a row's has its position, too. */
  id: string;
}

/** The rows on the screen, and room for those above and below. */
function Body<Row>({ props, columns, shown, grid: { active, first, last }, id }: BodyProps<Row>) {
  const { rows, tree } = props;
  const { order, parents, filtered, largest } = shown;
  return (
    <tbody>
      <Gap rows={first} />
      {order.slice(first, last).map((index, i) => {
        const row = rows[index] as Row;
        const key = props.rowKey(row);
        return (
          <RowView
            key={key}
            id={`${id}-${first + i}`}
            row={row}
            rowKey={key}
            columns={columns}
            position={first + i}
            active={first + i === active}
            selected={isSelected(key, props.selected)}
            inferred={props.inferred ?? false}
            largest={(c) => largest.get(c.key) ?? 1}
            {...(tree && parents.has(index) && { expanded: filtered || tree.isOpen(row) })}
            {...(props.onOpen && { onOpen: props.onOpen })}
          />
        );
      })}
      {!printing.value && <Gap rows={order.length - last} />}
    </tbody>
  );
}

function isSelected(key: string, selected: TableProps<never>["selected"]): boolean {
  return typeof selected === "string" ? key === selected : (selected?.includes(key) ?? false);
}

function Gap({ rows }: { rows: number }) {
  if (rows <= 0) return null;
  return <tr class="gap" aria-hidden="true" style={{ height: `${rows * ROW_PX}px` }} />;
}

/** Why there are no rows; a filter can be cleared. */
function NoRows({ rows, nouns, clear }: { rows: number; nouns: string; clear: () => void }) {
  return (
    <p class="empty" data-testid="no-rows">
      {rows === 0 ? t.table.none(nouns) : t.table.noMatch(nouns)}{" "}
      {rows > 0 && (
        <button type="button" class="link" onClick={clear}>
          {t.table.clear}
        </button>
      )}
    </p>
  );
}
