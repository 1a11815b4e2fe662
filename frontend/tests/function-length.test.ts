// No function is longer than a screen. Biome's rule of that kind does not count the lines of JSX.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseSync } from "vite";

const MOST_LINES = 60;
const SRC = fileURLToPath(new URL("../src", import.meta.url));
const FILES = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));

interface Node {
  type?: string;
  start: number;
  end: number;
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;

/** Returns the functions of a syntax tree, those inside others included. */
function functionsIn(node: Node): Node[] {
  const inside = Object.values(node).filter(isNode).flatMap(functionsIn);
  return /^(Function|ArrowFunction)/.test(node.type ?? "") ? [node, ...inside] : inside;
}

/** Returns where the functions are that have too many lines. */
function tooLong(name: string, text: string): string[] {
  const line = (at: number): number => text.slice(0, at).split("\n").length;
  return functionsIn(parseSync(name, text).program)
    .map(({ start, end }) => ({ from: line(start), lines: line(end) - line(start) + 1 }))
    .filter(({ lines }) => lines > MOST_LINES)
    .map(({ from, lines }) => `${name}:${from} has ${lines} lines`);
}

test("lines of JSX count", () => {
  const page = (breaks: number): string =>
    `function Page() {\n  return (\n    <p>\n${"<br />\n".repeat(breaks)}    </p>\n  );\n}`;
  expect(tooLong("page.tsx", page(MOST_LINES - 6))).toEqual([]);
  expect(tooLong("page.tsx", page(MOST_LINES - 5))).toEqual(["page.tsx:1 has 61 lines"]);
});

test.each(FILES)("%s has no function of more than 60 lines", (file) =>
  expect(tooLong(file, readFileSync(join(SRC, file), "utf8"))).toEqual([]),
);
