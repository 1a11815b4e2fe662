// Two recordings on one clock: a step of the one begins with a step of the other.
import { afterAll, expect, test, vi } from "vitest";
import { inTensorBoard } from "../../support/browser";

inTensorBoard("http://host/");
const { shiftOf, stepOf } = await import("../../../src/pages/timeline/use-comparison");

afterAll(() => vi.unstubAllGlobals());

const step = (n: number, start_ns: number, incomplete = false) => ({
  name: `ProfilerStep#${n}`,
  start_ns,
  incomplete,
});
const steps = [step(3, 100, true), step(4, 250), step(5, 400)];

test("the chosen step, else the first whole one, else the first", () => {
  expect(stepOf(steps, 5)).toBe(steps[2]);
  expect(stepOf(steps, null)).toBe(steps[1]);
  expect(stepOf([step(3, 100, true)], null)?.start_ns).toBe(100);
  expect(stepOf([], null)).toBeNull();
});

test("the shift brings both starts together; without steps both begin at their starts", () => {
  const then = { start_ns: 1000 };
  expect(then.start_ns + shiftOf({ start_ns: 250 }, then)).toBe(250);
  expect(shiftOf(null, then)).toBe(0);
});
