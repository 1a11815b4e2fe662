import { expect, test } from "vitest";
import { timeIn } from "../../src/lib/format";

test("a time has as many digits as the window tells apart", () => {
  expect(timeIn(595_123_456, 4_000_000)).toBe("595.123 ms");
  expect(timeIn(595_123_456, 40_000)).toBe("595.12346 ms");
  expect(timeIn(595_123_456, 1)).toBe("595.123456 ms");
  expect(timeIn(2_500_000_000, 10_000_000_000)).toBe("2.50 s");
  expect(timeIn(12, 20)).toBe("12 ns");
});
