// Columns of a table, and the order and filter of its rows.
import type { ComponentChildren } from "preact";
import type { Category } from "../../lib/color";
import { compares, parseFilter, type Kind, type Parsed, type Term } from "../../lib/filter";
import { bytes, count, duration, exactDuration, MISSING, percent } from "../../lib/format";
import { t } from "../../i18n";

/** A bigint is a whole number that a double cannot hold. */
export type Value = string | number | bigint | null;

export interface Column<Row> {
  /** The result's field: in the URL, in filters, in CSV and for tests. */
  key: string;
  title: string;
  help?: string;
  kind: Kind;
  width: number;
  value: (row: Row) => Value;
  /** What CSV, filters and tests have instead, where the value is a word that depends on the language. */
  code?: (row: Row) => Value;
  /** The tooltip, where the value is shortened. */
  full?: (row: Row) => string;
  /** Another look for the cell than the formatted value. */
  cell?: (row: Row) => ComponentChildren;
  /** How far off the value may be, in its unit; 0 for exact ones, null for unknown. */
  bound?: (row: Row) => number | null;
  /** A bar in the cell, of this color; `share` columns only. */
  bar?: (row: Row) => Category;
  /** Bars of columns with the same scale have the same length for the same value. */
  scale?: string;
  /** What part of that bar, 0 to 1, stands for what only has limits. */
  bounded?: (row: Row) => number;
  /** Shown only if it is chosen. */
  optional?: boolean;
  /** The rows' sum means something and stands in the totals row. */
  additive?: boolean;
}

type ValueKey<Row> = { [Key in keyof Row]-?: Row[Key] extends Value ? Key : never }[keyof Row] & string;

/** Returns the column of a row's field. */
export function field<Row>(
  key: ValueKey<Row>,
  head: { title: string; help?: string },
  kind: Kind,
  width: number,
  more: Omit<Partial<Column<Row>>, "key" | "kind" | "width"> = {},
): Column<Row> {
  return { key, ...head, kind, width, value: (row) => row[key] as Value, ...more };
}

/** Returns the column of a value that is made of a row's fields. */
export function derived<Row>(
  key: string,
  head: { title: string; help?: string },
  kind: Kind,
  width: number,
  value: (row: Row) => Value,
  more: Omit<Partial<Column<Row>>, "key" | "kind" | "width" | "value"> = {},
): Column<Row> {
  return { key, ...head, kind, width, value, ...more };
}

/** Returns the column of a field that has a word in the reader's language; the field is its code. */
export function worded<Row>(
  key: ValueKey<Row>,
  head: { title: string; help?: string },
  width: number,
  value: (row: Row) => Value,
  more: Omit<Partial<Column<Row>>, "key" | "kind" | "width" | "value"> = {},
): Column<Row> {
  return derived(key, head, "text", width, value, { code: (row) => row[key] as Value, ...more });
}

/** The columns, those optional that say nothing: texts that are the same in all rows, and numbers that
 * are all 0 or missing. The first one names the row and stays, as do those in use. */
export function withUniformOptional<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  used: ReadonlySet<string>,
): readonly Column<Row>[] {
  return columns.map((column, i) =>
    i === 0 || used.has(column.key) || !isUniform(column, rows) ? column : { ...column, optional: true },
  );
}

/** The columns that an order and a filter name. */
export function columnsInUse<Row>(
  sort: string | null,
  filter: string | null,
  columns: readonly Column<Row>[],
): ReadonlySet<string> {
  const terms = readFilter(filter ?? "", columns).terms ?? [];
  return new Set([
    ...parseSort(sort, columns).map((k) => k.key),
    ...terms.flatMap((term) => ("key" in term ? [term.key] : [])),
  ]);
}

function isUniform<Row>({ kind, value }: Column<Row>, rows: readonly Row[]): boolean {
  if (kind !== "text") return rows.length > 0 && rows.every((row) => Number(value(row) ?? 0) === 0);
  const [first, ...others] = rows;
  return first !== undefined && others.length > 0 && others.every((row) => value(row) === value(first));
}

export interface Tree<Row> {
  /** The number of the row around each row. */
  parents: readonly (number | null)[];
  /** Where a row is, if its name alone does not tell: a column of the CSV. */
  path?: (row: Row) => string;
  isOpen: (row: Row) => boolean;
  setOpen: (row: Row, open: boolean) => void;
}

/** One column of the order; the first one of a list counts most. */
export interface SortKey {
  key: string;
  descending: boolean;
}

/** `-total_ns,name` as the URL has it; names of no column are left out. */
export function parseSort<Row>(text: string | null, columns: readonly Column<Row>[]): SortKey[] {
  return (text ?? "").split(",").flatMap((part) => {
    const descending = part.startsWith("-");
    const key = descending ? part.slice(1) : part;
    return columns.some((c) => c.key === key) ? [{ key, descending }] : [];
  });
}

export function formatSort(keys: readonly SortKey[]): string {
  return keys.map((k) => (k.descending ? "-" : "") + k.key).join(",");
}

/** What of an order and a filter holds for a table with these columns; null for what does not. */
export function fitting<Row>(
  sort: string | null,
  filter: string | null,
  columns: readonly Column<Row>[],
): { sort: string | null; filter: string | null } {
  const known = filter !== null && readFilter(filter, columns).error === null;
  return { sort: formatSort(parseSort(sort, columns)) || null, filter: known ? filter : null };
}

/** The order after a click on a column's head: a second click turns it round, `add` keeps the
 * others. Numbers start with the largest, text with A. */
export function nextSort<Row>(keys: readonly SortKey[], column: Column<Row>, add: boolean): SortKey[] {
  const now = keys.find((k) => k.key === column.key);
  const turned = { key: column.key, descending: now ? !now.descending : column.kind !== "text" };
  if (!add) return [turned];
  return now ? keys.map((k) => (k === now ? turned : k)) : [...keys, turned];
}

/** Row indices in order. Missing values come last, whichever way round. */
export function sortRows<Row>(
  rows: readonly Row[],
  chosen: readonly number[],
  keys: readonly SortKey[],
  columns: readonly Column<Row>[],
): number[] {
  const by = keys.flatMap(({ key, descending }) => {
    const column = columns.find((c) => c.key === key);
    return column ? [{ values: rows.map(column.value), sign: descending ? -1 : 1 }] : [];
  });
  return [...chosen].sort((a, b) => {
    for (const { values, sign } of by) {
      const order = compare(values[a] ?? null, values[b] ?? null, sign);
      if (order !== 0) return order;
    }
    return a - b;
  });
}

/** Row indices that fulfil the filter; a filter that is not understood hides nothing. */
export function filterRows<Row>(
  rows: readonly Row[],
  parsed: Parsed,
  columns: readonly Column<Row>[],
): number[] {
  const texts = columns.filter((c) => c.kind === "text");
  const tests = (parsed.terms ?? []).map((term) => test(term, columns, texts));
  const found: number[] = [];
  rows.forEach((row, index) => {
    if (tests.every((holds) => holds(row))) found.push(index);
  });
  return found;
}

/** Reads the filter of a table with these columns. */
export function readFilter<Row>(expression: string, columns: readonly Column<Row>[]): Parsed {
  return parseFilter(expression, columns);
}

/** Rows of a tree, each before its children; siblings as in `sorted`. What is not open hides its
 * children. `parents` has the row around each row. */
export function treeOrder(
  parents: readonly (number | null)[],
  sorted: readonly number[],
  isOpen: (row: number) => boolean,
): number[] {
  const inside = new Map<number | null, number[]>();
  for (const row of sorted) {
    const siblings = inside.get(parents[row] ?? null);
    if (siblings) siblings.push(row);
    else inside.set(parents[row] ?? null, [row]);
  }
  const order: number[] = [];
  const stack = [...(inside.get(null) ?? [])].reverse();
  for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
    order.push(row);
    if (isOpen(row)) stack.push(...[...(inside.get(row) ?? [])].reverse());
  }
  return order;
}

/** These rows and all rows around them. */
export function withAncestors(parents: readonly (number | null)[], chosen: readonly number[]): number[] {
  const all = new Set<number>();
  for (const row of chosen) {
    for (
      let at: number | null | undefined = row;
      at !== null && at !== undefined && !all.has(at);
      at = parents[at]
    )
      all.add(at);
  }
  return [...all].sort((a, b) => a - b);
}

/** How far off a value may be by its least and greatest: the farther of both; null if one is not known. */
export function rangeBound(value: number | null, low: number | null, high: number | null): number | null {
  return value === null || low === null || high === null ? null : Math.max(high - value, value - low);
}

/** A value as the table shows it. */
export function shown(value: Value, kind: Kind): string {
  if (value === null) return MISSING;
  if (typeof value === "string") return value;
  if (typeof value === "bigint")
    return kind === "count" || kind === "text" ? count(value) : shown(Number(value), kind);
  switch (kind) {
    case "time":
      return duration(value);
    case "bytes":
      return bytes(value);
    case "share":
      return percent(value);
    case "count":
    case "text":
      return count(value);
  }
}

/** A value exactly, for the tooltip; its bound is null if it has one that is not known. */
export function exact(value: Value, kind: Kind, bound: number | null = 0): string {
  if (value === null) return t.format.missing;
  if (typeof value === "string") return value;
  if (typeof value === "bigint") return kind === "time" ? `${count(value)} ns` : count(value);
  const off = (size: string): string =>
    bound === null ? ` ${t.format.unknownBound}` : bound > 0 ? ` ± ${size}` : "";
  if (kind === "time") return exactDuration(value) + off(exactDuration(bound));
  return kind === "share" ? `${value * 100} %${off(`${(bound ?? 0) * 100} %`)}` : count(value);
}

/** The bound of a cell; 0 for what is exact, or has none. */
export function boundOf<Row>(column: Column<Row>, row: Row): number | null {
  return column.bound && column.value(row) !== null ? column.bound(row) : 0;
}

/** What a table's CSV has: all columns, and beside those with a bound, if there is one, that. */
export function exported<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): { names: string[]; body: Value[][] } {
  const parts = columns.flatMap((column): { name: string; value: (row: Row) => Value }[] => {
    const own = { name: column.key, value: column.code ?? column.value };
    if (!column.bound || rows.every((row) => boundOf(column, row) === 0)) return [own];
    const unit = column.kind === "time" && column.key.endsWith("_ns") ? "_ns" : "";
    const name = `${column.key.slice(0, column.key.length - unit.length)}_bound${unit}`;
    return [own, { name, value: (row: Row): Value => boundOf(column, row) }];
  });
  return { names: parts.map((p) => p.name), body: rows.map((row) => parts.map((p) => p.value(row))) };
}

function test<Row>(
  term: Term,
  columns: readonly Column<Row>[],
  texts: readonly Column<Row>[],
): (row: Row) => boolean {
  if (term.type === "word") {
    return (row) =>
      texts.some((c) => searchable(c, row).some((text) => text.toLowerCase().includes(term.text))) !==
      term.negated;
  }
  const column = columns.find((c) => c.key === term.key);
  if (!column) return () => true;
  if (term.type === "text") return (row) => searchable(column, row).includes(term.text) !== term.negated;
  return (row) => {
    const value = column.value(row);
    return (
      (typeof value === "number" || typeof value === "bigint") &&
      compares(Number(value), term.operator, term.value)
    );
  };
}

/** What a column says of a row, and the code of that. */
const searchable = <Row>(column: Column<Row>, row: Row): string[] =>
  [column.value, ...(column.code ? [column.code] : [])].map((of) => String(of(row) ?? ""));

function compare(a: Value, b: Value, sign: number): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return a < b ? -sign : sign;
}
