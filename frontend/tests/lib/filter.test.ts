import { describe, expect, test } from "vitest";
import { firstWord, parseFilter, quote, type Field } from "../../src/lib/filter";
import { filterRows, readFilter, type Column } from "../../src/widgets/table/columns";

const FIELDS: Field[] = [
  { key: "name", kind: "text" },
  { key: "host_self_ns", kind: "time" },
  { key: "host_total_ns", kind: "time" },
  { key: "device_self_ns", kind: "time" },
  { key: "calls", kind: "count" },
  { key: "share", kind: "share" },
  { key: "peak_bytes", kind: "bytes" },
];
const terms = (text: string) => parseFilter(text, FIELDS).terms;
const error = (text: string) => parseFilter(text, FIELDS).error;

describe("terms", () => {
  test("nothing filters nothing", () => {
    expect(terms("")).toEqual([]);
    expect(terms(" , ")).toEqual([]);
  });
  test("words, with and without", () => {
    expect(terms("Mm -relu")).toEqual([
      { type: "word", text: "mm", negated: false },
      { type: "word", text: "relu", negated: true },
    ]);
    expect(terms("aten::mm")).toEqual([{ type: "word", text: "aten::mm", negated: false }]);
  });
  test("quotes hold spaces, commas and quotes together", () => {
    expect(terms('"a, \\"b\\" > c"')).toEqual([{ type: "word", text: 'a, "b" > c', negated: false }]);
  });
  test.each([
    ["calls >= 10", "calls", ">=", 10],
    ["calls>=10", "calls", ">=", 10],
    ["calls == 2k", "calls", "=", 2000],
    ["host_self > 1 ms", "host_self_ns", ">", 1e6],
    ["host_self_ns>1.5us", "host_self_ns", ">", 1500],
    ["HOST_SELF < 2 S", "host_self_ns", "<", 2e9],
    ["device <= .5µs", "device_self_ns", "<=", 500],
    ["share != 5%", "share", "!=", 0.05],
    ["peak > 4 MiB", "peak_bytes", ">", 4 * 2 ** 20],
    ["total > 1ms", "host_total_ns", ">", 1e6],
  ])("%s", (text, key, operator, value) =>
    expect(terms(text)).toEqual([{ type: "number", key, operator, value }]),
  );
  test("terms follow each other with spaces or commas", () => {
    expect(terms("mm calls > 1,host_self<1ms relu")?.map((t) => t.type)).toEqual([
      "word",
      "number",
      "number",
      "word",
    ]);
  });
  test("what quote() writes is read as the same text", () => {
    for (const text of ['void f<4, g>(a "b" \\ c)', "a > 1", "-x", ""]) {
      expect(terms(`name = ${quote(text)}`)).toEqual([{ type: "text", key: "name", text, negated: false }]);
    }
  });
});

describe("messages", () => {
  test.each([
    ["self > 1ms", "self may be host_self or device_self."],
    ["totl > 1ms", "There is no column totl."],
    ["kernel<4, int>", "put it in quotes"],
    ["host_self > 1", "1 of what? Give a unit: host_self > 1 ms."],
    ["host_self > 1 parsec", "parsec is no unit of host_self"],
    ["calls > many", "calls > needs a number: calls > 10."],
    ["share > 0.1", "Give a unit: share > 5%."],
    ["name > 3", 'name is text: use name = "…"'],
    ['name = "open', "closing quote"],
    ['"open', "closing quote"],
  ])("%s", (text, message) => expect(error(text)).toContain(message));
});

describe("rows", () => {
  interface Row {
    name: string;
    total_ns: number | null;
  }
  const columns: Column<Row>[] = [
    { key: "name", title: "Name", kind: "text", width: 1, value: (r) => r.name },
    { key: "total_ns", title: "Total", kind: "time", width: 1, value: (r) => r.total_ns },
  ];
  const rows: Row[] = [
    { name: "aten::mm", total_ns: 2e6 },
    { name: "aten::relu", total_ns: 5e5 },
    { name: "aten::mm_out", total_ns: null },
  ];
  const found = (text: string) =>
    filterRows(rows, readFilter(text, columns), columns).map((i) => rows[i]?.name);
  test("all terms must hold", () => expect(found("mm total > 1ms")).toEqual(["aten::mm"]));
  test("a missing value fulfils no comparison, not even !=", () =>
    expect(found("total != 1ms")).toEqual(["aten::mm", "aten::relu"]));
  test("exact text", () => expect(found('name = "aten::mm"')).toEqual(["aten::mm"]));
  test("a filter that is not understood hides nothing", () => expect(found("nope > 1")).toHaveLength(3));
});

test.each([
  [null, null],
  ["", null],
  ["relu", "relu"],
  ["calls > 5, relu", "relu"],
  ['name = "aten::mm" share > 1%', "aten::mm"],
  ["-relu", null],
  ["-relu mm", "mm"],
  ["calls > 5", null],
  ['"a b"', "a b"],
  ["color > 3 relu", null],
])("the first word of %s is %s", (expression, word) => expect(firstWord(expression, FIELDS)).toBe(word));
