// Every text is in every language, and none stands in the code of the pages.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";
import { describe, expect, test } from "vitest";
import { en } from "../src/texts/en";
import { zh } from "../src/texts/zh";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** What is the same in Chinese: names of formats, of files, of torch's concepts. */
const SAME = /^[\W\d_]*$|^(Rank|rank|[Kk]ernel|SQL|CSV|PNG|JSON|URL|Parquet|Perfetto|Chrome JSON|p95|HTTP)$/;

function leaves(part: unknown, path: string): [string, unknown][] {
  if (typeof part !== "object" || part === null) return [[path, part]];
  return Object.entries(part).flatMap(([key, value]) => leaves(value, `${path}.${key}`));
}

describe("Chinese", () => {
  const english = new Map(leaves(en, "t"));
  test("has each text, and no other", () => expect(leaves(zh, "t").map(([path]) => path).sort()).toEqual([...english.keys()].sort()));
  test.each(leaves(zh, "t"))("%s", (path, text) => {
    const original = english.get(path);
    expect(typeof text).toBe(typeof original);
    if (typeof text !== "string") return expect((text as () => unknown).length).toBe((original as () => unknown).length);
    if (!SAME.test(text)) expect(text).toMatch(/[\u4e00-\u9fff]/);
    expect(text === "").toBe(original === "");
  });
});

/** Files whose texts have moved; all others still wait. */
const DONE = [
  "help.tsx", "topbar.tsx",
  "views/index.ts", "views/instance.tsx", "views/instancespanel.tsx", "views/kernels.tsx", "views/link.ts", "views/page.ts",
];
const FILES = readdirSync(SRC, { recursive: true, encoding: "utf8" }).map((f) => f.replace(/\\/g, "/")).filter((f) => /\.tsx?$/.test(f) && DONE.includes(f));

/** Attributes and fields that people read. */
const READ = /^(title|help|label|placeholder|noun|name|alt|aria-label|aria-description|aria-valuetext|hint|message|note|empty|what|text|caption)$/;
/** Of these, `name` and `text` are also what programs read. */
const WORDS = /[A-Za-z]{2,}.*\s|^[A-Z][a-z]+/;

/** Units, which look the same in all languages. */
const UNITS = /^(ns|ms)$/;

interface Node { type: string; [field: string]: unknown }

/** The texts of a file that stand in it, in JSX or in a field that is read. */
function bare(file: string): string[] {
  const found: string[] = [];
  const look = (told: unknown): void => {
    const node = told as Node | null;
    if (node?.type === "Literal" && typeof node["value"] === "string" && WORDS.test(node["value"])) found.push(node["value"]);
    if (node?.type === "TemplateLiteral") {
      const text = (node["quasis"] as { value: { cooked: string } }[]).map((q) => q.value.cooked).join(" ");
      if (/[A-Za-z]{2,}/.test(text)) found.push(text);
    }
    if (node?.type === "JSXExpressionContainer") look(node["expression"]);
    if (node?.type === "ConditionalExpression") { look(node["consequent"]); look(node["alternate"]); }
    if (node?.type === "LogicalExpression") look(node["right"]);
  };
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(walk);
    if (typeof value !== "object" || value === null) return;
    const node = value as Node;
    if (node.type === "JSXText" && /[A-Za-z]{2,}/.test(String(node["value"]))) found.push(String(node["value"]).trim());
    if (node.type === "JSXElement" || node.type === "JSXFragment") (node["children"] as Node[]).forEach((child) => look(child["expression"]));
    if (node.type === "JSXAttribute" && READ.test(String((node["name"] as Node)["name"]))) look(node["value"]);
    if (node.type === "Property" && READ.test(String((node["key"] as Node)["name"]))) look(node["value"]);
    Object.values(node).forEach(walk);
  };
  walk(parseSync(file, readFileSync(join(SRC, file), "utf8")).program);
  return found.filter((text) => !UNITS.test(text));
}

test.each(FILES)("%s has no text of its own", (file) => expect(bare(file)).toEqual([]));
