// Results with columns: JSON, then the columns of numbers as they are in the server's memory
// (`views/encoding.py`). The arrays are views of the answer's buffer: nothing is copied. Tables that
// came as columns are rows again.

type Column = Float64Array | Float32Array | Int32Array | Int16Array | Int8Array;

const OF: Readonly<Record<string, (buffer: ArrayBuffer, at: number, n: number) => Column>> = {
  float64: (buffer, at, n) => new Float64Array(buffer, at, n),
  float32: (buffer, at, n) => new Float32Array(buffer, at, n),
  int32: (buffer, at, n) => new Int32Array(buffer, at, n),
  int16: (buffer, at, n) => new Int16Array(buffer, at, n),
  int8: (buffer, at, n) => new Int8Array(buffer, at, n),
};

type Values = ArrayLike<unknown>;

/** What stands in the JSON for a column and a list of numbers, for values and parts that repeat, for lists, and for a table. */
interface Packed {
  $column?: [string, number, number];
  $list?: Values;
  $values?: [Values, ArrayLike<number>];
  $parts?: [string[], ArrayLike<number>, ArrayLike<number>];
  $lists?: [Values, ArrayLike<number>];
  $rows?: Record<string, Values>;
}

export const PACKED = "application/octet-stream";

/** The result in an answer. Throws RangeError or SyntaxError for what is none. */
export function unpack(buffer: ArrayBuffer): unknown {
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  const base = Math.ceil((4 + length) / 8) * 8;
  return JSON.parse(text, (_key, value: unknown) => {
    const { $column, $list, $values, $parts, $lists, $rows } = (value as Packed | null) ?? {};
    if ($column) {
      const make = OF[$column[0]];
      if (!make) throw new RangeError(`a column of ${$column[0]}`);
      return make(buffer, base + $column[1], $column[2]);
    }
    if ($list) return Array.from($list);
    if ($values) return Array.from($values[1], (at) => $values[0][at]);
    if ($parts) return textsOf(...$parts);
    if ($lists) return listsOf(...$lists);
    return $rows ? rowsOf($rows) : value;
  });
}

/** A table's rows from the values of its fields, which are equally many. */
function rowsOf(fields: Record<string, Values>): object[] {
  const columns = Object.entries(fields);
  const count = columns[0]?.[1].length ?? 0;
  return Array.from({ length: count }, (_, at) =>
    Object.fromEntries(columns.map(([name, values]) => [name, values[at]])),
  );
}

/** Lists from the items of all of them, and how many each has. */
function listsOf(items: Values, counts: ArrayLike<number>): unknown[][] {
  let at = 0;
  return Array.from(counts, (count) => Array.from({ length: count }, () => items[at++]));
}

/** Texts from their parts: the indices of all of them, and how many each text has; none: null. */
function textsOf(parts: string[], indices: ArrayLike<number>, counts: ArrayLike<number>): (string | null)[] {
  let at = 0;
  return Array.from(counts, (count) =>
    count === 0 ? null : Array.from({ length: count }, () => parts[indices[at++] ?? 0]).join(";"),
  );
}
