import { expect, test } from "vitest";
import type { Finding } from "../../../src/api/types";
import { inTensorBoard } from "../../support/browser";

inTensorBoard("http://host/#privateuse1");
const { warningsOf, ranked, summary } = await import("../../../src/pages/shared/data-warnings");
const finding = (code: string, severity: Finding["severity"], affects: Finding["affects"] = []): Finding => ({
  code,
  severity,
  affects,
  message: code,
  hint: null,
  count: null,
  examples: [],
});
const [note, warning, error, other] = [
  finding("n", "info", ["kernels"]),
  finding("w", "warning", ["kernels", "steps"]),
  finding("e", "error", ["kernels"]),
  finding("o", "warning", ["memory"]),
];

test("the worst first, equals in their order", () => {
  expect(ranked([note, other, warning, error]).map((f) => f.code)).toEqual(["e", "o", "w", "n"]);
});

test("notes are beside no figure", () => {
  const codes = (figures: Finding["affects"]): string[] =>
    warningsOf([note, other, warning, error], figures).map((f) => f.code);
  expect(codes(["kernels"])).toEqual(["e", "w"]);
  expect(codes(["steps", "memory"])).toEqual(["o", "w"]);
  expect(codes(["operators"])).toEqual([]);
  expect(warningsOf([finding("no_device_times", "error", ["kernels"]), warning], ["kernels"])).toEqual([
    warning,
  ]);
});

test("the badge tells the worst", () => {
  expect(summary([])).toBe("data OK");
  expect(summary([note])).toBe("1 note");
  expect(summary([note, note, warning, other])).toBe("2 warnings");
  expect(summary([note, warning, error])).toBe("1 error, 1 warning");
});
