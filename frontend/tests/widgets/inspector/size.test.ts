// @vitest-environment happy-dom
// How large the panel may be, and the size that the reader chose.
import { afterEach, describe, expect, test } from "vitest";
import { fittingSize, storedSize, storeSize } from "../../../src/widgets/inspector/size";

afterEach(() => localStorage.clear());

describe("the size that fits", () => {
  test.each([
    [400, "right", 1440, 400],
    [100, "right", 1440, 300],
    [2000, "right", 1440, 960],
    [333.4, "bottom", 900, 333],
    [20, "bottom", 900, 96],
    [880, "bottom", 900, 700],
    [880, "bottom", 200, 96],
  ] as const)("%i px at the %s of %i px is %i", (px, side, window_px, fitting) => {
    expect(fittingSize(px, side, window_px)).toBe(fitting);
  });
});

test("a size is kept, and what is none is as if it were not there", () => {
  expect(storedSize("some")).toBeNull();
  storeSize("some", 410);
  expect(storedSize("some")).toBe(410);
  localStorage.setItem("tb_privateuse1.some", "wide");
  expect(storedSize("some")).toBeNull();
  storeSize("some", null);
  expect(localStorage.getItem("tb_privateuse1.some")).toBeNull();
});
