// @vitest-environment happy-dom
// MFU, HFU, samples and tokens as a reader sees them, and the reason where there are none.
import { render } from "preact";
import { afterEach, expect, test } from "vitest";
import type { Overview } from "../../../src/api/types";
import { DeviceUse } from "../../../src/pages/overview/device-use";

const USE: Overview["use"] = {
  mfu: 0.412,
  mfu_low: 0.412,
  mfu_high: 0.412,
  hfu: 0.412,
  hfu_low: 0.412,
  hfu_high: 0.412,
  product_flops: 3.5e12,
  known_share: 1,
  use_missing: null,
  samples_per_s: 8,
  samples_per_s_low: 8,
  samples_per_s_high: 8,
  samples_missing: null,
  tokens_per_s: 35185.4,
  tokens_per_s_low: 35185.4,
  tokens_per_s_high: 35185.4,
  tokens_missing: null,
  step_shares: [],
};
const NONE = Object.fromEntries(
  Object.entries(USE).map(([key, value]) => [key, typeof value === "number" ? null : value]),
) as unknown as Overview["use"];

let page = document.createElement("div");

function show(use: Overview["use"], timeline = "measured", step: number | null = null, steps = 3): string {
  page = document.createElement("div");
  document.body.append(page);
  const step_counts = { numbered: steps };
  const facts = { step_counts, average_step_ns: null, modeled: null, provenance: { timeline } };
  const now = { use, ...facts } as unknown as Overview;
  render(<DeviceUse now={now} step={step} />, page);
  return page.textContent ?? "";
}

const row = (key: string) => page.querySelector<HTMLElement>(`[data-key="${key}"]`);

afterEach(() => page.remove());

test("the share of the peak stands with its unit and help", () => {
  show(USE);
  expect(row("mfu")?.textContent).toContain("41.2 %");
  expect(row("mfu")?.dataset["value"]).toBe("0.412");
  expect(row("mfu")?.title).toContain("FLOPs");
  expect(row("product_flops")?.textContent).toContain("3.50 TFLOP");
  expect(row("samples_per_s")?.textContent).toContain("8.00");
  show({ ...USE, product_flops: 8.19e9 });
  expect(row("product_flops")?.textContent).toContain("8.19 GFLOP");
  expect(row("tokens_per_s")?.textContent).toContain("35,185");
});

test("HFU stands only where a checkpoint computes again", () => {
  show(USE);
  expect(row("hfu")).toBeNull();
  show({ ...USE, hfu: 0.5 });
  expect(row("hfu")?.textContent).toContain("50.0 %");
});

test("inferred times give ranges", () => {
  show({ ...USE, mfu_low: 0.3, mfu_high: 0.5, samples_per_s_low: 7, samples_per_s_high: 9 }, "inferred");
  expect(row("mfu")?.textContent).toContain("(30.0 to 50.0 %)");
  expect(row("samples_per_s")?.textContent).toContain("(7.00 to 9.00)");
});

test("a reason stands beside what is known, and nothing stands alone", () => {
  const reason = "Record with record_shapes=True.";
  const lacking = { use_missing: reason, samples_missing: reason, tokens_missing: reason };
  expect(show({ ...NONE, ...lacking })).toBe("");
  const text = show({ ...NONE, ...lacking, tokens_per_s: 9 });
  expect(text.split(reason)).toHaveLength(2);
  expect(row("mfu")).toBeNull();
});

test("a recording of the host shows what is known of its batch, and else nothing", () => {
  expect(show({ ...NONE, use_missing: "no device times" }, "none")).toBe("");
  expect(show({ ...NONE, use_missing: "no device times", samples_per_s: 8 }, "none")).toContain("8.00");
});

test("without steps nothing is called that of a step", () => {
  const text = show(USE, "measured", null, 0);
  expect(text).toContain("the analyzed time");
  expect(text).not.toMatch(/steps|per step/);
});

test("the heading names the selected step", () => {
  expect(show(USE)).toContain("complete steps");
  expect(show(USE, "measured", 7)).toContain("step 7");
});
