import { expect, test } from "vitest";
import { field, type Column } from "../../../src/widgets/table/columns";
import { largestByColumn } from "../../../src/widgets/table/use-table-rows";

interface Row {
  half: number;
  free: number;
  other: number;
}

test("bars of one scale are as long for the same value", () => {
  const column = (key: keyof Row & string, more: Partial<Column<Row>>): Column<Row> =>
    field<Row>(key, { title: key }, "share", 1, { bar: () => "kernel", ...more });
  const columns = [
    column("half", { scale: "gain" }),
    column("free", { scale: "gain", bound: () => 0.1 }),
    column("other", {}),
  ];
  const rows = [{ half: 0.1, free: 0.3, other: 0.2 }];
  expect([...largestByColumn(rows, columns)]).toEqual([
    ["half", 0.4],
    ["free", 0.4],
    ["other", 0.2],
  ]);
});
