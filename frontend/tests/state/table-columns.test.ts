import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inTensorBoard } from "../support/browser";

let chosen: typeof import("../../src/state/table-columns");
let state: typeof import("../../src/state/url");

beforeEach(async () => {
  vi.resetModules();
  inTensorBoard("http://host/");
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  chosen = await import("../../src/state/table-columns");
  state = await import("../../src/state/url");
  state.follow((await import("../../src/pages/url-keys")).PAGE_KEYS);
});
afterEach(() => vi.unstubAllGlobals());

test("each table of a page has columns of its own in the URL", () => {
  const memory = chosen.columnMemory;
  memory.set("kernels", "short_calls,-kind");
  memory.set("instances", "bound_ns");
  expect(state.state.value.columns).toBe("kernels:short_calls,-kind;instances:bound_ns");
  expect(["kernels", "instances", "ops"].map(memory.get)).toEqual(["short_calls,-kind", "bound_ns", null]);
  memory.set("kernels", null);
  expect(state.state.value.columns).toBe("instances:bound_ns");
  memory.set("instances", null);
  expect(state.state.value.columns).toBeNull();
});

test("what the URL has goes before what the browser keeps", () => {
  chosen.columnMemory.set("kernels", "-kind");
  state.go({ columns: "kernels:short_calls" });
  expect(chosen.columnMemory.get("kernels")).toBe("short_calls");
  state.go({ columns: null });
  expect(chosen.columnMemory.get("kernels")).toBe("-kind");
});
