// Translations have the texts of English, with the same values, and no text stands in the code of the pages.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";
import { describe, expect, test } from "vitest";
import { TABLES } from "../../src/api/types";
import { en as main } from "../../src/i18n/en";
import { apart as englishApart } from "../../src/i18n/en/apart";
import { spaced } from "../../src/i18n/han";
import { zh as mainChinese } from "../../src/i18n/zh";
import { apart as chineseApart } from "../../src/i18n/zh/apart";
import { MEANINGS } from "../../src/i18n/zh/zh-columns";

const en = { ...main, ...englishApart };
const zh = { ...mainChinese, ...chineseApart };

const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** What is the same in Chinese: names of formats, of files, of torch's concepts. */
const SAME =
  /^[\W\d_]*$|^(Rank|rank|Kernel|kernel|[Mm]emcpy|[Mm]emset|CPU|SQL|CSV|PNG|JSON|URL|Parquet|Perfetto|Chrome JSON|p95|MFU|HFU|HTTP|PrivateUse1)$/;

const HAN = "[\\u3400-\\u9fff]";
/** No space between Chinese and Latin letters or figures, or punctuation of half the width after Chinese. */
const UNTIDY = new RegExp(`${HAN}[A-Za-z0-9%]|[A-Za-z0-9%]${HAN}|${HAN}[,;:!?]|[，。；：？！、（）] `);

function leaves(part: unknown, path: string): [string, unknown][] {
  if (typeof part !== "object" || part === null) return [[path, part]];
  return Object.entries(part).flatMap(([key, value]) => leaves(value, `${path}.${key}`));
}

describe("Chinese", () => {
  const english = new Map(leaves(en, "t"));
  test("has no text that English lacks", () =>
    expect(
      leaves(zh, "t")
        .map(([path]) => path)
        .filter((path) => !english.has(path)),
    ).toEqual([]));
  test.each(leaves(zh, "t"))("%s", (path, text) => {
    const original = english.get(path);
    expect(typeof text).toBe(typeof original);
    if (typeof text !== "string") return;
    if (!SAME.test(text)) expect(text).toMatch(/[\u4e00-\u9fff]/);
    expect(text === "").toBe(original === "");
  });
  test("that is put together has a space beside Latin", () => {
    expect(spaced("此处没有", "kernel")).toBe("此处没有 kernel");
    expect(spaced("12", "个", "算子", "")).toBe("12 个算子");
  });
  test.each(files("i18n/zh"))("%s is tidy", (file) =>
    expect(written(file).filter((text) => UNTIDY.test(text))).toEqual([]),
  );
});

function files(folder: string): string[] {
  return readdirSync(join(SRC, folder), { recursive: true, encoding: "utf8" })
    .map((f) => join(folder, f).replace(/\\/g, "/"))
    .filter((f) => /\.tsx?$/.test(f));
}

interface Node {
  type: string;
  [field: string]: unknown;
}

const parsed = (file: string): Node =>
  parseSync(file, readFileSync(join(SRC, file), "utf8")).program as unknown as Node;
const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value;
const of = (node: Node, field: string): Node => node[field] as Node;
const nameOf = (key: Node): string => String(key["name"] ?? key["value"]);

/** All texts of a file, as they are written. */
function written(file: string): string[] {
  const found: string[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const one of value) walk(one);
      return;
    }
    if (typeof value !== "object" || value === null) return;
    if (isNode(value)) found.push(...textsOf(value));
    Object.values(value).forEach(walk);
  };
  walk(parsed(file));
  return found;
}

function textsOf(node: Node): string[] {
  if (node.type === "JSXText") return [String(node["value"]).trim()];
  if (node.type === "Literal") return typeof node["value"] === "string" ? [node["value"]] : [];
  return node.type === "TemplateLiteral"
    ? (node["quasis"] as { value: { cooked: string } }[]).map((q) => q.value.cooked)
    : [];
}

/** Files with texts by right: texts, what is generated, the words of C++, what is shown if texts cannot be loaded. */
const OTHERS = /^i18n\/|^lib\/mangled-name\.ts$|^api\/(types|binary)\.ts$|^index\.ts$/;
const FILES = files("").filter((file) => !OTHERS.test(file));

/** What reads like words for people: several of them, or one that begins as a sentence does. */
const WORDS = /[A-Za-z]{3,}[,;:.]?\s|\s[A-Za-z]{2,}|^\s*[A-Z][a-z]{2,}/;
/** Words of the browser, of formats and of other programs. */
const THEIRS =
  /^(Arrow(Up|Down|Left|Right)|Enter|Escape|Home|End|Page(Up|Down)|Backspace|Delete|Space|Shift|Tab|TimeoutError|Counters)$|^\d+px .*sans-serif$|^(text|application|image)\/|^\(?HTTP( |$)|^VS Code$|^IntelliJ IDEA$|^PyCharm$|^Cursor$|^\(prefers-|^[a-z_]+ =( "[a-z_]*")?$|^(± )?([014] )?(ns|us|ms|MiB|TFLOP)$|^from tb_privateuse1 import |^on_trace_ready=|^nn\.Module:$|^select |^pip install |^TB_PRIVATEUSE1_|^tb-privateuse1 /;
/** Attributes and fields that people do not read, whatever they hold. */
const UNREAD =
  /^(data-.*|class|style|d|viewBox|points|transform|patternTransform|xmlns|accept|autocomplete|testid|fill|stroke|href|rel|icon|key|template|font|translate)$/;
/** Words that people read although there is only one of them. */
const READ =
  /^(title|help|label|placeholder|noun|nouns|alt|aria-label|aria-description|aria-valuetext|hint|message|note|empty|caption|unit|short|word)$/;

/** The texts that stand in a file itself. */
function bare(file: string): string[] {
  const found: string[] = [];
  const say = (text: string, sure = false): void => {
    if ((sure ? /[A-Za-z]{2,}/ : WORDS).test(text) && !THEIRS.test(text.trim()) && !SAME.test(text.trim()))
      found.push(text.trim());
  };
  // What is shown for certain: one word of small letters is a text there, and a code elsewhere.
  const shown = (node: Node | null): void => {
    if (!node) return;
    if (node.type === "JSXExpressionContainer" || node.type === "ParenthesizedExpression")
      shown(of(node, "expression"));
    else if (node.type === "ConditionalExpression")
      for (const one of ["consequent", "alternate"]) shown(of(node, one));
    else if (node.type === "LogicalExpression")
      for (const one of node["operator"] === "&&" ? ["right"] : ["left", "right"]) shown(of(node, one));
    else if (node.type === "BinaryExpression" && node["operator"] === "+")
      for (const one of ["left", "right"]) shown(of(node, one));
    else for (const text of textsOf(node)) say(text, true);
  };
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const one of value) walk(one);
      return;
    }
    if (!isNode(value)) return;
    const node = value;
    switch (node.type) {
      case "ImportDeclaration":
      case "ExportAllDeclaration":
      case "ImportExpression":
      case "TSTypeAliasDeclaration":
      case "TSInterfaceDeclaration":
      case "TSTypeAnnotation":
      case "TSTypeParameterInstantiation":
        return;
      case "SwitchCase":
        walk(node["consequent"]);
        return;
      case "BinaryExpression":
        if (/^[!=]==?$/.test(String(node["operator"]))) return;
        break;
      case "CallExpression":
        if (isConsole(of(node, "callee"))) return;
        break;
      case "AssignmentExpression":
        if (UNREAD.test(nameOf(of(of(node, "left"), "property") ?? {}))) return;
        break;
      case "JSXElement":
      case "JSXFragment":
        if (node.type === "JSXElement" && isCode(node)) return; // the same in all languages
        (node["children"] as Node[]).forEach((child) => {
          if (child.type !== "JSXElement" && child.type !== "JSXFragment") shown(child);
        });
        break;
      case "JSXAttribute":
      case "Property": {
        const name = nameOf(of(node, node.type === "Property" ? "key" : "name"));
        if (UNREAD.test(name)) return;
        if (READ.test(name)) shown(of(node, "value"));
        walk(node["value"]);
        return;
      }
    }
    for (const text of textsOf(node)) say(text);
    Object.values(node).forEach(walk);
  };
  walk(parsed(file));
  return [...new Set(found)];
}

const isCode = (element: Node): boolean => nameOf(of(of(element, "openingElement"), "name")) === "code";
const isConsole = (callee: Node): boolean =>
  callee.type === "MemberExpression" && of(callee, "object")["name"] === "console";

test.each(FILES)("%s has no text of its own", (file) => expect(bare(file)).toEqual([]));

test("the meaning of each column of SQL is in Chinese", () => {
  const meanings = new Set(
    Object.values(TABLES)
      .flat()
      .map(([, , told]) => told ?? ""),
  );
  for (const meaning of meanings)
    if (!/^(External id|Python (module )?id|correlation id|ProfilerStep#N)$/.test(meaning))
      expect(MEANINGS[meaning]).toMatch(/[\u4e00-\u9fff]/);
});
