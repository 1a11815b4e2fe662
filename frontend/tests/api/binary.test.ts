import { expect, test } from "vitest";
import { unpack } from "../../src/api/binary";

/** An answer as `views/encoding.py` makes it. */
function packed(json: unknown, columns: Uint8Array = new Uint8Array()): ArrayBuffer {
  const head = new TextEncoder().encode(JSON.stringify(json));
  const base = Math.ceil((4 + head.length) / 8) * 8;
  const all = new Uint8Array(base + columns.length);
  new DataView(all.buffer).setUint32(0, head.length, true);
  all.set(head, 4);
  all.set(columns, base);
  return all.buffer;
}

test("a column of numbers is a view of the answer, and a list of numbers is an array", () => {
  const bytes = new Uint8Array([1, 2, 255, 0, 0, 0, 0, 0]);
  const column = { $column: ["int8", 0, 3] };
  const told = unpack(packed({ column, list: { $list: column } }, bytes)) as Record<string, unknown>;
  expect(told.column).toEqual(new Int8Array([1, 2, -1]));
  expect(told.list).toEqual([1, 2, -1]);
});

test("a table is rows again", () => {
  const rows = {
    name: {
      $values: [
        ["gemm", null],
        [0, 1, 0],
      ],
    },
    stack: {
      $parts: [
        ["a", "b", ""],
        [0, 1, 2],
        [2, 0, 1],
      ],
    },
    count: { $column: ["int8", 0, 3] },
    inner: [[1], [], [{ deep: true }]],
    classes: { $lists: [{ $rows: { name: ["idle", "python"] } }, [1, 0, 1]] },
  };
  const bytes = new Uint8Array([4, 5, 6, 0, 0, 0, 0, 0]);
  expect(unpack(packed({ total: 15, rows: { $rows: rows } }, bytes))).toEqual({
    total: 15,
    rows: [
      { name: "gemm", stack: "a;b", count: 4, inner: [1], classes: [{ name: "idle" }] },
      { name: null, stack: null, count: 5, inner: [], classes: [] },
      { name: "gemm", stack: "", count: 6, inner: [{ deep: true }], classes: [{ name: "python" }] },
    ],
  });
});

test("a column of an unknown kind is an error", () => {
  expect(() => unpack(packed({ $column: ["int64", 0, 0] }))).toThrow(RangeError);
});
