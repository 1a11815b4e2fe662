import { describe, expect, test } from "vitest";
import {
  bound,
  bytes,
  count,
  dateTime,
  duration,
  durationRange,
  exactDuration,
  percent,
  relativeChange,
  percentRange,
  signedBytes,
  signedDuration,
  utc,
  wallClock,
} from "../../src/lib/format";
import { plural } from "../../src/i18n/count";

describe("duration", () => {
  test.each([
    [null, "–"],
    [0, "0 ns"],
    [1, "1 ns"],
    [999, "999 ns"],
    [1000, "1.00 µs"],
    [12_345, "12.3 µs"],
    [999_499, "999 µs"],
    [999_999, "1.00 ms"],
    [1_234_567, "1.23 ms"],
    [999_600_000, "1.00 s"],
    [61_000_000_000, "61.0 s"],
    [3_600_000_000_000, "3,600 s"],
    [-5_230_000, "−5.23 ms"],
  ])("%s ns is %s", (ns, text) => expect(duration(ns)).toBe(text));

  test("never shows more than three significant digits below 1000 s", () => {
    for (let ns = 1; ns < 1e12; ns = Math.ceil(ns * 1.37)) {
      expect(duration(ns).replace(/[^\d]/g, "").length).toBeLessThanOrEqual(3);
    }
  });
});

test("the exact value is the trace's integer", () => {
  expect(exactDuration(1_234_567)).toBe("1.234567 ms");
  expect(exactDuration(1_195_141_047)).toBe("1.195141047 s");
  expect(exactDuration(-2_500)).toBe("-2.5 µs");
  expect(exactDuration(999)).toBe("999 ns");
  expect(exactDuration(4_000_000_000_001)).toBe("4,000.000000001 s");
  expect(exactDuration(null)).toBe("not in this trace");
});

test("a bound of nothing or of 0 is not shown", () => {
  expect(bound(null)).toBe("");
  expect(bound(0)).toBe("");
  expect(bound(4800)).toBe("± 4.80 µs");
});

test("counts have thousands", () => {
  expect(count(0)).toBe("0");
  expect(count(1234567)).toBe("1,234,567");
  expect(count(null)).toBe("–");
  expect(plural(1, "step")).toBe("1 step");
  expect(plural(2, "memcpy", "memcpys")).toBe("2 memcpys");
});

test.each([
  [null, "–"],
  [0, "0 %"],
  [1, "100 %"],
  [0.9996, "> 99.9 %"],
  [0.123456, "12.3 %"],
  [0.00123, "0.12 %"],
  [0.00001, "< 0.01 %"],
  [2.5, "250 %"],
])("a share of %s is %s", (share, text) => expect(percent(share)).toBe(text));

test.each([
  [null, "–"],
  [512, "512 B"],
  [1024, "1.00 KiB"],
  [-1024, "−1.00 KiB"],
  [1536, "1.50 KiB"],
  [435e6, "415 MiB"],
  [5 * 2 ** 30, "5.00 GiB"],
])("%s bytes are %s", (n, text) => expect(bytes(n)).toBe(text));

test.each([
  [null, "–"],
  [0, "0 ns"],
  [1536, "+1.54 µs"],
  [-3, "−3 ns"],
])("a change of %s ns is %s", (n, text) => expect(signedDuration(n)).toBe(text));
test.each([
  [null, "–"],
  [0, "0 B"],
  [1536, "+1.50 KiB"],
  [-3, "−3 B"],
])("a change of %s bytes is %s", (n, text) => expect(signedBytes(n)).toBe(text));

test("dates sort as text", () =>
  expect(dateTime(1_795_227_308_148_875_000)).toMatch(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d$/));

test("a clock shows each µs", () => {
  const at = 1_795_227_708_999_999;
  expect(utc(at)).toBe("2026-11-21T02:21:48.999Z");
  expect(wallClock(at)).toMatch(/^2026-11-2\d \d\d:\d\d:48\.999999$/);
  expect(wallClock(at + 1)).toMatch(/:49\.000000$/);
});

describe("a range", () => {
  test.each([
    [0, 0.25, "at most 25.0 %"],
    [0.1, 0.35, "10.0 to 35.0 %"],
    [0.00001, 1, "< 0.01 to 100 %"],
    [0.12341, 0.12342, "12.3 %"],
  ])("of %d to %d has its unit once: %s", (low, high, text) => expect(percentRange(low, high)).toBe(text));
  test.each([
    [0, 25e6, "at most 25.0 ms"],
    [1.5e6, 2e6, "1.50 to 2.00 ms"],
    [500, 2e6, "500 ns to 2.00 ms"],
  ])("of %d to %d ns has both units if they differ: %s", (low, high, text) =>
    expect(durationRange(low, high)).toBe(text),
  );
});

test.each([
  [null, "–"],
  [0, "0 %"],
  [0.123, "+12.3 %"],
  [-0.5, "−50.0 %"],
  [0.00001, "< +0.01 %"],
  [10, "+1,000 %"],
  [11, "× 12.0"],
  [4999, "× 5,000"],
  [123_456, "> × 9,999"],
])("a change by the share %s is %s", (share, text) => expect(relativeChange(share)).toBe(text));
