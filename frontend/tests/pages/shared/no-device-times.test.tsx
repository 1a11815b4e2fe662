// @vitest-environment happy-dom
// Why there are no device times: the remedy of the device that is known, never that of another one.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { Finding, Overview } from "../../../src/api/types";
import { NoDeviceTimes } from "../../../src/pages/shared/no-device-times";

const finding = (code: string, severity: Finding["severity"], hint: string): Finding => ({
  code,
  severity,
  message: `${code} is said.`,
  hint,
  count: null,
  affects: ["kernels"],
  examples: [],
});

function shown(...warnings: Finding[]): Element | null {
  const root = document.createElement("div");
  const overview = { provenance: { timeline: "none", warnings } } as unknown as Overview;
  act(() => render(<NoDeviceTimes overview={overview} />, root));
  return root.querySelector('[data-testid="no-device-times"]');
}

test("a device whose activity is missing has its own remedy, not that of PrivateUse1", () => {
  const notice = shown(
    finding("truncated", "error", "Copy it."),
    finding("no_device_activities", "error", "They may be lost."),
  );
  expect(notice?.getAttribute("data-kind")).toBe("unseen");
  expect(notice?.textContent).toContain("no_device_activities is said.");
  expect(notice?.textContent).toContain("They may be lost.");
  expect(notice?.textContent).not.toMatch(/PrivateUse1|capture/);
});

test("a trace of the host alone may lack nothing", () => {
  expect(shown(finding("host_only", "info", ""))?.getAttribute("data-kind")).toBe("host_only");
});
