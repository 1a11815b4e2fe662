import { expect, test } from "vitest";
import { csv } from "../../../src/lib/csv";
import {
  boundOf,
  columnsInUse,
  exact,
  exported,
  field,
  filterRows,
  fitting,
  formatSort,
  nextSort,
  parseSort,
  readFilter,
  shown,
  sortRows,
  withUniformOptional,
  type Column,
} from "../../../src/widgets/table/columns";
import { niceTicks } from "../../../src/widgets/charts/ticks";

interface Row {
  name: string;
  calls: number;
  total_ns: number | null;
}
const COLUMNS: Column<Row>[] = [
  { key: "name", title: "Name", kind: "text", width: 1, value: (r) => r.name },
  { key: "calls", title: "Calls", kind: "count", width: 1, value: (r) => r.calls },
  { key: "total_ns", title: "Total", kind: "time", width: 1, value: (r) => r.total_ns },
];
const [NAME, CALLS, TOTAL] = COLUMNS as [Column<Row>, Column<Row>, Column<Row>];
const ROWS: Row[] = [
  { name: "b", calls: 2, total_ns: 5 },
  { name: "a", calls: 2, total_ns: null },
  { name: "c", calls: 10, total_ns: 7 },
  { name: "d", calls: 2, total_ns: 6 },
];
const ALL = [0, 1, 2, 3];
const sorted = (text: string) =>
  sortRows(ROWS, ALL, parseSort(text, COLUMNS), COLUMNS)
    .map((i) => ROWS[i]?.name)
    .join("");

test("a field's column has the row's value, and what else it is given", () => {
  const column = field<Row>("total_ns", { title: "Total", help: "In all" }, "time", 76, { additive: true });
  const { value, ...rest } = column;
  expect(rest).toEqual({
    key: "total_ns",
    title: "Total",
    help: "In all",
    kind: "time",
    width: 76,
    additive: true,
  });
  expect(ROWS.map(value)).toEqual([5, null, 7, 6]);
});

test("numbers sort as numbers, text as text", () => {
  expect(sorted("-calls")).toBe("cbad");
  expect(sorted("name")).toBe("abcd");
});
test("a second column decides where the first is equal, and the server's order where both are", () => {
  expect(sorted("calls,-name")).toBe("dbac");
  expect(sorted("calls")).toBe("badc");
});
test("missing values come last both ways", () => {
  expect(sorted("total_ns")).toBe("bdca");
  expect(sorted("-total_ns")).toBe("cdba");
});
test("only the chosen rows are sorted", () =>
  expect(sortRows(ROWS, [2, 0], parseSort("name", COLUMNS), COLUMNS)).toEqual([0, 2]));
test("the URL's order is read and written, unknown columns are left out", () => {
  const keys = parseSort("-calls,name,nope", COLUMNS);
  expect(formatSort(keys)).toBe("-calls,name");
  expect(parseSort(null, COLUMNS)).toEqual([]);
});
test("clicks: numbers from the largest, text from a, again turns round, shift adds", () => {
  const first = nextSort([], CALLS, false);
  expect(formatSort(first)).toBe("-calls");
  expect(formatSort(nextSort(first, CALLS, false))).toBe("calls");
  const both = nextSort(first, NAME, true);
  expect(formatSort(both)).toBe("-calls,name");
  expect(formatSort(nextSort(both, CALLS, true))).toBe("calls,name");
  expect(formatSort(nextSort(both, NAME, false))).toBe("-name");
});
test("a hundred thousand rows sort in well under a second", () => {
  const rows: Row[] = Array.from({ length: 100_000 }, (_, i) => ({
    name: `op${(i * 7919) % 100_003}`,
    calls: i % 97,
    total_ns: (i * 31) % 10_007,
  }));
  const start = performance.now();
  const order = sortRows(
    rows,
    rows.map((_, i) => i),
    parseSort("-calls,total_ns", COLUMNS),
    COLUMNS,
  );
  expect(performance.now() - start).toBeLessThan(2000);
  expect(rows[order[0] ?? -1]?.calls).toBe(96);
});
test("cells: three digits shown, exact in the tooltip", () => {
  expect(shown(1_234_567, "time")).toBe("1.23 ms");
  expect(exact(1_234_567, "time", 2000)).toBe("1.234567 ms ± 2 µs");
  expect(shown(null, "time")).toBe("–");
  expect(shown(0.5, "share")).toBe("50.0 %");
});
const UNCERTAIN: Column<Row>[] = [
  NAME,
  { ...TOTAL, bound: (r) => (r.name === "c" ? null : r.calls === 10 ? 0 : 3) },
  { ...CALLS, bound: () => 0 },
];
test("inferred values say how far off they may be, and that nobody knows", () => {
  const total = UNCERTAIN[1] as Column<Row>;
  expect(ROWS.map((r) => boundOf(total, r))).toEqual([3, 0, null, 3]);
  expect(boundOf(NAME, ROWS[0] as Row)).toBe(0);
  expect(exact(7, "time", null)).toBe("7 ns ± unknown");
  expect(exact(0.5, "share", 0.25)).toBe("50 % ± 25 %");
  expect(exact(7, "time", 0)).toBe("7 ns");
});
test("a table's CSV has the bounds beside inferred values, and no such column where all is exact", () => {
  expect(exported(UNCERTAIN, ROWS)).toEqual({
    names: ["name", "total_ns", "total_bound_ns", "calls"],
    body: [
      ["b", 5, 3, 2],
      ["a", null, 0, 2],
      ["c", 7, null, 10],
      ["d", 6, 3, 2],
    ],
  });
  expect(exported(COLUMNS, ROWS).names).toEqual(["name", "calls", "total_ns"]);
});
test("CSV has exact values, quotes what needs it and gives spreadsheets no formula", () => {
  expect(
    csv(
      ["name", "total_ns"],
      [
        ['f<4, "g">', 1234567],
        ["=cmd()", null],
      ],
    ),
  ).toBe('name,total_ns\r\n"f<4, ""g"">",1234567\r\n\'=cmd(),\r\n');
});
test("ticks are round and few", () => {
  expect(niceTicks(17_900_000)).toEqual([0, 5e6, 10e6, 15e6]);
  for (const most of [1, 7, 999, 123_456_789, 6e12]) {
    const ticks = niceTicks(most);
    expect(ticks.length).toBeGreaterThan(1);
    expect(ticks.length).toBeLessThan(8);
  }
});

test("a word that depends on the language: its code is what CSV has, and a filter knows both", () => {
  const verdict: Column<{ verdict: string }> = {
    key: "verdict",
    title: "确定性",
    kind: "text",
    width: 1,
    value: (r) => (r.verdict === "longer" ? "变长" : "无变化"),
    code: (r) => r.verdict,
  };
  const rows = [{ verdict: "longer" }, { verdict: "same" }];
  expect(exported([verdict], rows)).toEqual({ names: ["verdict"], body: [["longer"], ["same"]] });
  for (const text of ['verdict = "longer"', "verdict = 变长", "变长", "longer", "-same"])
    expect(filterRows(rows, readFilter(text, [verdict]), [verdict])).toEqual([0]);
  expect(sortRows(rows, [0, 1], [{ key: "verdict", descending: true }], [verdict])).toEqual([1, 0]);
});

test("of an order and a filter stays what the columns have", () => {
  expect(fitting("-total_ns,registers", "mm total > 1 ms", COLUMNS)).toEqual({
    sort: "-total_ns",
    filter: "mm total > 1 ms",
  });
  expect(fitting("-registers", "mm registers > 100", COLUMNS)).toEqual({ sort: null, filter: null });
  expect(fitting(null, null, COLUMNS)).toEqual({ sort: null, filter: null });
});

test("whole numbers that are no doubles keep all their digits", () => {
  const column: Column<{ n: number | bigint }> = {
    key: "n",
    title: "n",
    kind: "count",
    width: 1,
    value: (r) => r.n,
  };
  const rows = [{ n: 9007199254740993n }, { n: 5 }, { n: -9007199254740993n }, { n: 9007199254740992n }];
  expect(sortRows(rows, [0, 1, 2, 3], [{ key: "n", descending: false }], [column])).toEqual([2, 1, 3, 0]);
  expect(filterRows(rows, readFilter("n > 1000", [column]), [column])).toEqual([0, 3]);
  const { names, body } = exported([column], rows);
  expect(csv(names, body)).toBe("n\r\n9007199254740993\r\n5\r\n-9007199254740993\r\n9007199254740992\r\n");
  expect(shown(9007199254740993n, "count")).toBe("9,007,199,254,740,993");
  expect(exact(-9007199254740993n, "time")).toBe("-9,007,199,254,740,993 ns");
  expect(shown(9007199254740993n, "time")).toBe(shown(9007199254740992, "time"));
});

test("columns that say nothing are optional, those of the order and the filter are not", () => {
  const column = (key: "name" | "calls" | "total_ns", kind: Column<Row>["kind"]): Column<Row> =>
    field<Row>(key, { title: key }, kind, 1);
  const rows: Row[] = [
    { name: "same", calls: 0, total_ns: null },
    { name: "same", calls: 0, total_ns: 0 },
  ];
  const columns = [CALLS, column("name", "text"), column("calls", "count"), column("total_ns", "time")];
  const optional = (of: readonly Row[], order: string, filter = ""): (boolean | undefined)[] =>
    withUniformOptional(columns, of, columnsInUse(order, filter, columns)).map((c) => c.optional);
  expect(optional(rows, "")).toEqual([undefined, true, true, true]);
  expect(optional(rows, "-total_ns")).toEqual([undefined, true, true, undefined]);
  expect(optional(rows, "", 'name = "same"')).toEqual([undefined, undefined, true, true]);
  expect(optional(ROWS, "")).toEqual([undefined, undefined, undefined, undefined]);
  expect(optional(rows.slice(0, 1), "")).toEqual([undefined, undefined, true, true]);
  expect(optional([], "")).toEqual([undefined, undefined, undefined, undefined]);
});
