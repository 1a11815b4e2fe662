// Head, body rows and foot of a table.
import type { ComponentChildren } from "preact";
import { t } from "../../i18n";
import { color } from "../../lib/color";
import { boundOf, exact, shown, type Column, type SortKey } from "./columns";
import { ShareBar } from "../charts/share-bar";
import { Expanded } from "./tree-toggle";

/** The height of a row in table.css; virtual scrolling counts with it. */
export const ROW_PX = 24;

interface HeadProps<Row> {
  columns: readonly Column<Row>[];
  keys: readonly SortKey[];
  onSort: (column: Column<Row>, add: boolean) => void;
}

export function Head<Row>({ columns, keys, onSort }: HeadProps<Row>) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const at = keys.findIndex((k) => k.key === column.key);
          const key = keys[at];
          const order = key ? (key.descending ? "descending" : "ascending") : undefined;
          return (
            <th
              key={column.key}
              scope="col"
              class={column.kind}
              {...(order && ({ "aria-sort": order } as const))}
              data-column={column.key}
            >
              <button
                type="button"
                onClick={(e) => onSort(column, e.shiftKey)}
                title={t.table.sort(column.help ?? "")}
              >
                <span class="name">{column.title}</span>
                <span class="sort" aria-hidden="true">
                  {key && (key.descending ? "▾" : "▴")}
                  {keys.length > 1 && key && at + 1}
                </span>
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

interface RowProps<Row> {
  id: string;
  row: Row;
  rowKey: string;
  columns: readonly Column<Row>[];
  position: number;
  active: boolean;
  selected: boolean;
  inferred: boolean;
  /** The largest value of a column: bars are drawn in its scale, so that small ones are seen. */
  largest: (column: Column<Row>) => number;
  onOpen?: (row: Row) => void;
  /** Of a row of a tree that has rows inside to show. */
  expanded?: boolean;
}

export function RowView<Row>({
  id,
  row,
  rowKey,
  columns,
  position,
  active,
  selected,
  inferred,
  largest,
  onOpen,
  expanded,
}: RowProps<Row>) {
  const classes = [active && "active", selected && "selected", onOpen && "opens"].filter(Boolean).join(" ");
  return (
    <Expanded.Provider value={expanded ?? null}>
      <tr
        id={id}
        class={classes}
        aria-rowindex={position + 2}
        aria-selected={selected}
        data-key={rowKey}
        {...(expanded !== undefined && { "aria-expanded": expanded })}
        {...(onOpen && { onClick: () => onOpen(row) })}
      >
        {columns.map((column) => {
          const value = column.value(row);
          const bound = boundOf(column, row);
          return (
            <td
              key={column.key}
              class={bound === 0 ? column.kind : `${column.kind} uncertain`}
              data-column={column.key}
              data-value={(column.code ? column.code(row) : value) ?? ""}
              {...(column.bound && { "data-bound": bound ?? "unknown" })}
              title={column.full?.(row) ?? exact(value, column.kind, bound)}
            >
              {column.bar && typeof value === "number" && (
                <ShareBar
                  share={value / largest(column)}
                  bound={bound === null ? null : bound / largest(column)}
                  fill={color(column.bar(row))}
                  inferred={inferred}
                  bounded={column.bounded?.(row) ?? 0}
                />
              )}
              {column.cell ? (
                column.cell(row)
              ) : column.full ? (
                <Middle text={shown(value, column.kind)} />
              ) : (
                <span class="value">{shown(value, column.kind)}</span>
              )}
            </td>
          );
        })}
      </tr>
    </Expanded.Provider>
  );
}

/** Characters of a name's end that a narrow column keeps: the type and the tile. */
const TAIL = 14;

/** A name with its ellipsis in the middle, as both of its ends tell it from others. */
function Middle({ text }: { text: string }) {
  const at = Math.max(0, text.length - TAIL);
  return (
    <span class="value middle">
      <span>{text.slice(0, at)}</span>
      <span>{text.slice(at)}</span>
    </span>
  );
}

interface FootProps<Row> {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  order: readonly number[];
  all: boolean;
}

/** The sums of what is shown. */
export function Foot<Row>({ columns, rows, order, all }: FootProps<Row>) {
  const sum = (column: Column<Row>): number | null => {
    const values = order
      .map((index) => column.value(rows[index] as Row))
      .filter((v) => typeof v === "number");
    return values.length ? values.reduce((a, b) => a + b, 0) : null;
  };
  const cell = (column: Column<Row>, index: number): ComponentChildren => {
    if (index === 0)
      return (
        <td key={column.key} class="text">
          {t.table.sums(all, order.length)}
        </td>
      );
    if (!column.additive) return <td key={column.key} />;
    const value = sum(column);
    const bounds = order.map((at) => boundOf(column, rows[at] as Row));
    const bound = bounds.reduce((all, b) => (all === null || b === null ? null : all + b), 0);
    return (
      <td
        key={column.key}
        class={bound === 0 ? column.kind : `${column.kind} uncertain`}
        data-column={column.key}
        data-value={value ?? ""}
        title={exact(value, column.kind, bound)}
      >
        {/* Rounding errors of thousands of shares would show as more than all. */}
        <span class="value">
          {shown(
            column.kind === "share" && value !== null ? Math.min(1, Number(value.toFixed(9))) : value,
            column.kind,
          )}
        </span>
      </td>
    );
  };
  return (
    <tfoot>
      <tr data-testid="totals-row">{columns.map(cell)}</tr>
    </tfoot>
  );
}
