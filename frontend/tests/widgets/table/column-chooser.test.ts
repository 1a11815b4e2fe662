import { expect, test } from "vitest";
import { chosenColumns, switched } from "../../../src/widgets/table/column-chooser";
import type { Column } from "../../../src/widgets/table/columns";

const column = (key: string, optional = false): Column<null> => ({
  key,
  title: key,
  kind: "text",
  width: 10,
  optional,
  value: () => null,
});
const COLUMNS = [column("name"), column("a"), column("b"), column("extra", true)];
const keys = (choice: string | null): string[] => chosenColumns(COLUMNS, choice).map((c) => c.key);

test("optional columns are hidden at first", () => expect(keys(null)).toEqual(["name", "a", "b"]));

test("a choice is the differences from that", () => {
  expect(keys("extra,-a")).toEqual(["name", "b", "extra"]);
  expect(keys("-name,unknown")).toEqual(["name", "a", "b"]);
});

test("switching there and back leaves no choice", () => {
  const once = switched(COLUMNS, null, "extra");
  expect(once).toBe("extra");
  expect(switched(COLUMNS, once, "a")).toBe("-a,extra");
  expect(switched(COLUMNS, once, "extra")).toBeNull();
});
