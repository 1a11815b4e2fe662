// Which room may import which: arrows point down, pages do not know each other, and nothing is a cycle.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const SRC = fileURLToPath(new URL("../src", import.meta.url));
const FILES = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .map((file) => file.replace(/\\/g, "/"))
  .filter((file) => /\.tsx?$/.test(file));

/** The rooms, lowest first: a file imports from its own room and from those before it. */
const ROOMS = ["i18n", "lib", "widgets", "api", "state", "pages", "app", "report", "index.ts"];
/** Generated declarations that import nothing: every room may name the types of a result. */
const TYPES = "api/types.ts";

const text = (file: string): string => readFileSync(join(SRC, file), "utf8");
const room = (file: string): number => ROOMS.indexOf(file.split("/")[0] ?? "");
/** The folder of a page; the registry and what else lies in `pages/` itself belongs to none. */
const page = (file: string): string => /^pages\/([^/]+)\//.exec(file)?.[1] ?? "";

function imports(file: string): string[] {
  const paths = [...text(file).matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((m) =>
    join(dirname(file), m[1] ?? ""),
  );
  return paths.flatMap((path) =>
    ["", ".ts", ".tsx", "/index.ts", "/index.tsx"].map((end) => path + end).filter((f) => FILES.includes(f)),
  );
}

const IMPORTS = new Map(FILES.map((file) => [file, imports(file).filter((other) => other !== TYPES)]));

/** The files on a way from this file back to itself. */
function cycle(file: string, way: readonly string[] = [file], seen = new Set<string>()): readonly string[] {
  for (const next of IMPORTS.get(file) ?? []) {
    if (next === way[0]) return [...way, next];
    if (seen.has(next)) continue;
    seen.add(next);
    const found = cycle(next, [...way, next], seen);
    if (found.length) return found;
  }
  return [];
}

describe.each(FILES)("%s", (file) => {
  const found = IMPORTS.get(file) ?? [];
  test("lies in a room and imports no higher one", () => {
    expect(room(file)).toBeGreaterThanOrEqual(0);
    expect(found.filter((other) => room(other) > room(file))).toEqual([]);
  });
  test("is on no cycle", () => expect(cycle(file)).toEqual([]));
});

test.each(FILES.filter(page))("%s imports of the pages only its own folder and shared", (file) => {
  const others = (IMPORTS.get(file) ?? []).filter((other) => room(other) === room(file));
  expect(others.filter((other) => ![page(file), "shared", ""].includes(page(other)))).toEqual([]);
});

test("one place of fetch, one of the URL, and no text that becomes markup", () => {
  const having = (pattern: RegExp): string[] => FILES.filter((f) => pattern.test(text(f)));
  expect(having(/\bfetch\(/)).toEqual(["api/client.ts"]);
  expect(having(/replaceState|location\.href/)).toEqual(["state/url.ts"]);
  expect(having(/Accept-Language/)).toEqual(["api/client.ts"]);
  expect(having(/innerHTML|insertAdjacentHTML|document\.write/)).toEqual([]);
});

/** Lines that cannot be broken: one text, icon or regular expression; texts are in i18n. */
const UNBROKEN = /^\s*(\w+: )?(["`/]).*\2[a-z]*[,;]?$/;

test.each(FILES.filter((file) => file !== TYPES && !file.startsWith("i18n/")))(
  "%s has lines of 110 columns at most",
  (file) => {
    const long = text(file)
      .split("\n")
      .filter((line) => line.length > 110 && !UNBROKEN.test(line));
    expect(long).toEqual([]);
  },
);
