// The table of every page: virtual rows, sticky head and foot, sort, filter, CSV, keyboard.
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useId, useMemo, useState } from "preact/hooks";
import { csv } from "../../lib/csv";
import { download } from "../../lib/dom";
import { t } from "../../i18n";
import { exported, formatSort, nextSort, treeOrder, type Column, type Tree } from "./columns";
import { chosenColumns, ColumnChooser, ColumnMemoryContext } from "./column-chooser";
import { useGrid } from "./use-grid";
import { useTableRows } from "./use-table-rows";
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

export function Table<Row>(props: TableProps<Row>) {
  const { columns, rows, defaultSort, rowKey } = props;
  const [expression, setExpression] = useState(props.filter ?? "");
  const id = useId();
  const remembered = useContext(ColumnMemoryContext);
  const choice = remembered.get(props.name);
  const visible = useMemo(() => chosenColumns(columns, choice), [columns, choice]);

  // The URL may change under us: Back, or a link from another page.
  useEffect(() => setExpression(props.filter ?? ""), [props.filter]);

  const { keys, parsed, chosen, filtered, sorted, order, parents, largest } = useTableRows(props, expression);
  const { tree } = props;
  const { scroller, grid, active, first, last, onScroll, onKeyDown } = useGrid({
    ...props,
    order,
    parents,
    filtered,
  });
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
        <div class="scroller" ref={scroller} onScroll={onScroll}>
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
