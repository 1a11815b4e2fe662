// Each rule of scripts/lint names what breaks it, and is silent about what does not.
import { expect, test } from "vitest";
import { bareTexts } from "../scripts/lint/bare-texts";
import { firstLine } from "../scripts/lint/first-line";
import { functionLength } from "../scripts/lint/function-length";
import { layers, lineLength, onePlace } from "../scripts/lint/layers";
import { rowFields } from "../scripts/lint/row-fields";
import { columnMeanings, tidyChinese, translations } from "../scripts/lint/translations";
import { spaced } from "../src/i18n/han";

const sources = (files: Record<string, string>): Map<string, string> => new Map(Object.entries(files));

test("a file begins with what it is for", () => {
  const files = {
    "a.ts": "// Sums.\n",
    "b.ts": "/** A page. */\n",
    "c.ts": 'import "./a";\n',
    "d.ts": "//\n",
  };
  expect(firstLine(sources(files))).toEqual([
    "c.ts: the first line does not say what the file is for",
    "d.ts: the first line does not say what the file is for",
  ]);
});

test("a field of a row that its page does not show is named", () => {
  const types = "export interface KernelRow {\n  name: string;\n  total_ns: number;\n  waves: number;\n}\n";
  const columns = 'field("name"); time("total", "total_ns");';
  expect(rowFields(sources({ "api/types.ts": types, "pages/kernels/columns.tsx": columns }))).toEqual([
    "pages/kernels: nothing shows the field waves of KernelRow",
  ]);
});

test("lines of JSX count", () => {
  const page = (breaks: number): Map<string, string> =>
    sources({
      "page.tsx": `function Page() {\n  return (\n    <p>\n${"<br />\n".repeat(breaks)}    </p>\n  );\n}`,
    });
  expect(functionLength(page(54))).toEqual([]);
  expect(functionLength(page(55))).toEqual(["page.tsx:1: a function has 61 lines, more than 60"]);
});

test("imports point down, within a page, and never round", () => {
  const files = {
    "lib/low.ts": 'import "../pages/a/one";\n',
    "pages/a/one.ts": 'import "../b/two";\nimport "./three";\nimport "../shared/all";\n',
    "pages/a/three.ts": 'import "./one";\n',
    "pages/b/two.ts": "",
    "pages/shared/all.ts": "",
    "elsewhere/x.ts": "",
  };
  expect(layers(sources(files))).toEqual([
    "lib/low.ts: imports pages/a/one.ts, a higher room",
    "pages/a/one.ts: is on a cycle: pages/a/one.ts > pages/a/three.ts > pages/a/one.ts",
    "pages/a/one.ts: imports pages/b/two.ts, of another page",
    "pages/a/three.ts: is on a cycle: pages/a/three.ts > pages/a/one.ts > pages/a/three.ts",
    "elsewhere/x.ts: lies in no room",
  ]);
});

test("fetch, the URL, the language, preferences and markup have one place or none", () => {
  const text = 'fetch(1); history.replaceState(0); x["Accept-Language"]; localStorage; e.innerHTML = x;';
  const places = {
    "api/client.ts": 'fetch("x")',
    "state/url.ts": "location.href",
    "preference.ts": "localStorage",
  };
  const found = onePlace(sources({ "lib/a.ts": text, ...places }));
  expect(found.map((one) => one.split(", wh")[0])).toEqual([
    "lib/a.ts: has \\bfetch\\(",
    "lib/a.ts: has replaceState|location\\.href",
    "lib/a.ts: has Accept-Language",
    "lib/a.ts: has localStorage",
    "lib/a.ts: has innerHTML|insertAdjacentHTML|document\\.write",
    "api/client.ts: lacks Accept-Language",
  ]);
});

test("long lines are named, but for one text", () => {
  const long = "x".repeat(111);
  expect(lineLength(sources({ "lib/a.ts": `ok;\n${long}\n  "${long}",\n` }))).toEqual([
    "lib/a.ts:2: has 111 columns, more than 110",
  ]);
});

test("a text in the code of a page is named", () => {
  const page =
    '<p title="one" class="some words">{ok ? "two" : "three"} Four words <code>five words</code></p>;\n' +
    'console.error("a note for developers"); if (kind === "Some kind") go("x");\n';
  const found = bareTexts(sources({ "pages/a/page.tsx": page }));
  expect(found.map((one) => one.split(": ").at(-1))).toEqual(["two", "three", "Four words", "one"]);
});

test("Chinese that is missing, foreign or untidy is named", () => {
  const english = { a: "text", b: (n: number) => `${n}`, c: "", d: "Kernel" };
  expect(translations(english, { a: "文本", b: () => "", c: "", d: "Kernel" })).toEqual([]);
  expect(translations(english, { a: "text", b: "文", c: "文", e: "文" })).toEqual([
    "zh t.a: is not Chinese",
    "zh t.b: is a string, and English a function",
    "zh t.c: one of both is empty",
    "zh t.e: English lacks it",
  ]);
  expect(tidyChinese(sources({ "i18n/zh/a.ts": 'export const a = ["文本kernel", "文本 kernel"];' }))).toEqual(
    ["i18n/zh/a.ts: is not tidy: 文本kernel"],
  );
});

test("a column of SQL without a Chinese meaning is named", () => {
  const tables = {
    ops: [
      ["id", "int", "External id"],
      ["x", "int", "a meaning of no column"],
    ],
  };
  expect(columnMeanings(tables)).toEqual(["zh-columns.ts: lacks a meaning of no column"]);
});

test("Chinese that is put together has a space beside Latin", () => {
  expect(spaced("此处没有", "kernel")).toBe("此处没有 kernel");
  expect(spaced("12", "个", "算子", "")).toBe("12 个算子");
});
