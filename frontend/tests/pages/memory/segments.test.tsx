// @vitest-environment happy-dom
// The segments of a snapshot as a reader sees them: refusals, streams, and columns that sum to the size.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { MemorySegment, MemorySegments, RefusedAllocation } from "../../../src/api/types";
import { memorySegments as texts } from "../../../src/i18n/memory-segments";
import { bytes } from "../../../src/lib/format";
import { Content } from "../../../src/pages/memory/segments-section";

const MIB = 2 ** 20;

const segment = (more: Partial<MemorySegment> = {}): MemorySegment => ({
  segment: 0,
  pool: "large",
  stream: null,
  bytes: 3 * MIB,
  in_use_bytes: MIB,
  pending_bytes: 0,
  free_bytes: 2 * MIB,
  largest_free_bytes: MIB,
  pieces: [],
  ...more,
});

const refusal: RefusedAllocation = {
  bytes: 100 * MIB,
  device_free_bytes: 500 * MIB,
  free_bytes: 2 * MIB,
  largest_free_bytes: MIB,
  missing_bytes: 99 * MIB,
  verdict: "full",
};

async function shown(one: MemorySegment, refused: readonly RefusedAllocation[] = []): Promise<HTMLElement> {
  const root = document.body.appendChild(document.createElement("div"));
  const { bytes: reserved_bytes, in_use_bytes, pending_bytes, free_bytes, largest_free_bytes } = one;
  const sums = { reserved_bytes, in_use_bytes, pending_bytes, free_bytes, largest_free_bytes };
  const counts = { empty_bytes: 0, free_blocks: 2, segments_total: 1 };
  const result = { ...sums, ...counts, segments: [one], refused } as unknown as MemorySegments;
  await act(() => render(<Content result={result} />, root));
  return root;
}

const cells = (root: HTMLElement): (string | null)[] =>
  [...root.querySelectorAll("[data-key='0'] td.number")].map((cell) => cell.textContent);

test("a refusal with enough left on the device does not fit, and names the limit", async () => {
  const root = await shown(segment(), [refusal]);
  const said = root.querySelector("[data-testid=refused] li");
  expect(said?.getAttribute("data-key")).toBe("full");
  expect(said?.textContent).toContain(texts.leftEnough(bytes(500 * MIB)));
});

test("a device with less left than asked is said without a limit", async () => {
  const root = await shown(segment(), [{ ...refusal, device_free_bytes: MIB }]);
  expect(root.querySelector("[data-testid=refused]")?.textContent).toContain(texts.left(bytes(MIB)));
});

test("a missing stream is a dash", async () => {
  expect(cells(await shown(segment()))[0]).toBe("–");
  expect(cells(await shown(segment({ stream: 0 })))[0]).toBe("0");
});

test("memory that waits for a stream has a column, where there is any", async () => {
  const sizes = [bytes(3 * MIB), bytes(MIB), bytes(MIB), bytes(MIB)];
  const root = await shown(segment({ pending_bytes: MIB, free_bytes: MIB }));
  expect(cells(root).slice(1, 5)).toEqual(sizes);
  expect(cells(await shown(segment()))).toHaveLength(5);
  for (const head of ["size", "inUse", "pending", "freeBytes"] as const)
    expect(root.querySelector(`th[title="${texts[head].help}"]`)?.textContent).toBe(texts[head].title);
});
