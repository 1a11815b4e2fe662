import { afterAll, expect, test, vi } from "vitest";
import { inTensorBoard } from "../../support/browser";

inTensorBoard("http://host/");
const { tipTop } = await import("../../../src/widgets/timeline/canvas");

afterAll(() => vi.unstubAllGlobals());

test.each([
  [50, 100, 400, 64], // below the pointer
  [286, 100, 400, 300],
  [287, 100, 400, 173], // above it
  [399, 180, 400, 205],
  [90, 130, 160, 30], // no room on either side
  [90, 200, 160, 0],
])("at %d a tooltip of %d in %d begins at %d", (y, tall, height, top) => {
  expect(tipTop(y, tall, height)).toBe(top);
});
