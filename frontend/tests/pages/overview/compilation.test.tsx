// @vitest-environment happy-dom
// Compilation as a reader sees it: phases, graph breaks with their line, a row of each compilation.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { Compilation, CompiledCode } from "../../../src/api/types";
import { Content } from "../../../src/pages/overview/compilation-section";
import { PAGE_KEYS } from "../../../src/pages/url-keys";
import { follow } from "../../../src/state/url";

follow(PAGE_KEYS);

const code = (compile_id: string, more: Partial<CompiledCode> = {}): CompiledCode => ({
  compile_id,
  backward: false,
  function: "step",
  file: "/app/train.py",
  line: 12,
  start_ns: 0,
  total_ns: 2e9,
  dynamo_ns: 5e8,
  aot_ns: 5e8,
  inductor_ns: 5e8,
  codegen_ns: 5e8,
  inside_ns: 0,
  cache: "miss",
  guards: 7,
  operators: 3,
  reason: null,
  earlier: null,
  failure: null,
  breaks: 0,
  calls: 4,
  call_ns: 4e6,
  outside_ns: 1e6,
  op: 3,
  call_start_ns: 1e6,
  ...more,
});

const RESULT = {
  provenance: { timeline: "none", warnings: [] },
  logged: true,
  phases: [{ phase: "dynamo", time_ns: 1e9, compilations: 2 }],
  rows: [code("0/0", { breaks: 1 }), code("0/1", { reason: "0/0: n == 1", failure: "Limit exceeded" })],
  total_rows: 2,
  graph_breaks: [
    {
      compile_id: "0/0",
      function: "step",
      reason: "Failed to trace print",
      advice: "Hint: avoid it",
      file: "/app/train.py",
      line: 14,
      calls: 4,
    },
  ],
  total_breaks: 1,
  skips: [{ compile_id: "0/0", reason: "cpu device" }],
  total_skips: 1,
  recompilations: 1,
  failures: 1,
  cache_hits: 0,
  cache_misses: 2,
  cache_bypasses: 0,
  time_ns: 4e9,
  inside_ns: 0,
} as unknown as Compilation;

function shown(result: Compilation): Element {
  const root = document.createElement("div");
  act(() => render(<Content result={result} end={1e7} isLate={false} />, root));
  return root;
}

const of = (root: Element, name: string) => root.querySelector(`[data-testid="${name}"]`);

test("phases, graph breaks and compilations", () => {
  const root = shown(RESULT);
  expect(of(root, "compilation")?.textContent).toContain("2 compilations, 1 of them again; 1 graph break");
  expect(of(root, "compile-phases")?.querySelector('[data-key="dynamo"]')?.textContent).toContain("1.00 s");
  const broken = of(root, "graph-breaks");
  expect(broken?.textContent).toContain("train.py:14");
  const hint = broken?.querySelector("details");
  expect(hint?.querySelector("summary")?.textContent).toBe("Failed to trace print");
  expect(hint?.textContent).toContain("Hint: avoid it");
  expect(of(root, "table-compilation")?.getAttribute("data-rows")).toBe("2");
  expect(of(root, "compilation-failures")?.getAttribute("data-value")).toBe("1");
  expect(of(root, "graph-skips")?.textContent).toContain("cpu device");
});

test("a break without advice is a plain line", () => {
  const plain = { ...RESULT, graph_breaks: RESULT.graph_breaks.map((one) => ({ ...one, advice: null })) };
  const broken = of(shown(plain), "graph-breaks");
  expect(broken?.querySelector("details")).toBeNull();
  expect(broken?.textContent).toContain("Failed to trace print");
});

test("what is left out is counted", () => {
  expect(shown(RESULT).textContent).not.toContain("not shown");
  const root = shown({ ...RESULT, total_rows: 7, total_breaks: 4, total_skips: 2 });
  expect(of(root, "compilation")?.textContent).toContain("7 compilations, 1 of them again; 4 graph breaks");
  const left = [...root.querySelectorAll('[data-testid="left-out"]')].map((one) => one.textContent);
  expect(left).toEqual(["3 more are not shown.", "5 more are not shown.", "1 more is not shown."]);
});

test("the compiler's time is that of the recording, or of the step that is chosen", () => {
  expect(shown(RESULT).textContent).toContain("The compiler ran for 4.00 s, 0 ns of it in the recording.");
  const window = { kind: "step" };
  const step = { ...RESULT, provenance: { ...RESULT.provenance, window } } as unknown as Compilation;
  expect(shown(step).textContent).toContain("The compiler ran for 4.00 s, 0 ns of it in the chosen step.");
});

test("a compiler whose starts are not known ran for no time that the page names", () => {
  expect(shown(RESULT).textContent).toContain("The compiler ran for");
  const root = shown({ ...RESULT, time_ns: null, inside_ns: null });
  expect(root.textContent).not.toContain("The compiler ran for");
  expect(root.textContent).toContain("Cache of graphs");
});

test("without a log the section says how to get one", () => {
  const bare = { ...RESULT, logged: false, phases: [], graph_breaks: [], skips: [], failures: 0 };
  const root = shown(bare);
  expect(of(root, "compilation-no-log")?.textContent).toContain("TORCH_TRACE");
  expect(of(root, "compile-phases")).toBeNull();
  expect(of(root, "table-compilation")).not.toBeNull();
});
