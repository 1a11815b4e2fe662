import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const SRC = fileURLToPath(new URL("../src", import.meta.url));
const FILES = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((f) => /\.tsx?$/.test(f)).map((f) => f.replace(/\\/g, "/"));
const text = (file: string): string => readFileSync(join(SRC, file), "utf8");

/** Who may import whom: a folder or file, and the folders and files it may know. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  api: [],
  texts: ["texts", "api"],
  base: ["base", "texts"],
  widgets: ["base", "texts", "widgets"],
  host: [],
  state: ["host"],
  palette: [],
  packed: [],
  fetch: ["api", "host", "packed", "texts"],
  place: ["api", "fetch", "state", "texts"],
  chosen: ["state", "widgets"],
  load: ["api", "fetch", "host", "place"],
  views: ["api", "base", "texts", "widgets", "palette", "state", "fetch", "place", "chosen", "load", "views"],
};

function imports(file: string): string[] {
  const found = [...text(file).matchAll(/(?:from|import)\s*\(?"(\.[^"]+)"/g)].map((m) => m[1] ?? "");
  return found.map((path) => relative(SRC, join(SRC, dirname(file), path)).replace(/\\/g, "/"));
}

const part = (path: string): string => (path.split("/")[0] ?? "").replace(/\.\w+$/, "");

describe.each(FILES)("%s", (file) => {
  test("imports only lower layers", () => {
    const allowed = ALLOWED[part(file)];
    if (allowed) expect(imports(file).map(part).filter((p) => !allowed.includes(p))).toEqual([]);
  });
  test.skipIf(file === "api.ts")("has fewer than 300 lines, unless it is generated", () => expect(text(file).split("\n").length).toBeLessThan(300));
});

test("one place of fetch, one of the URL, and no text that becomes markup", () => {
  const having = (pattern: RegExp): string[] => FILES.filter((f) => pattern.test(text(f)));
  expect(having(/\bfetch\(/)).toEqual(["fetch.ts"]);
  expect(having(/replaceState|location\.href/)).toEqual(["state.ts"]);
  expect(having(/Accept-Language/)).toEqual(["fetch.ts"]);
  expect(having(/innerHTML|insertAdjacentHTML|document\.write/)).toEqual([]);
});
