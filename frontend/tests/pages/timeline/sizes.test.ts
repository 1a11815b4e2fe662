// Heights of rows that the reader chose, as the browser keeps them.
import { afterAll, expect, test, vi } from "vitest";
import { inTensorBoard } from "../../support/browser";

inTensorBoard("http://host/");
const { LEAST_ROW_PX, MOST_ROW_PX, parseRows, rowsText } = await import(
  "../../../src/pages/timeline/use-sizes"
);
const { fittingHeads } = await import("../../../src/widgets/timeline/canvas");

afterAll(() => vi.unstubAllGlobals());

test("come back as they were, and within limits", () => {
  const rows = { device: 24, operators: 12 };
  expect(parseRows(rowsText(rows))).toEqual(rows);
  expect(parseRows("device:1,frames:900")).toEqual({ device: LEAST_ROW_PX, frames: MOST_ROW_PX });
  expect(parseRows("device:x,<b>:3,:4,no")).toEqual({});
  expect(rowsText({})).toBeNull();
});

test("names of tracks keep a width that leaves room for both", () => {
  expect([fittingHeads(-4), fittingHeads(300.4), fittingHeads(9999)]).toEqual([90, 300, 520]);
});
