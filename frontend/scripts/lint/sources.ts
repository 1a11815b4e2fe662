// The source files that the rules read, and their syntax trees.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";

const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** Paths from `src`, with slashes on every system, and the text of each. */
export type Sources = ReadonlyMap<string, string>;

export function readSources(): Sources {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .map((file) => file.replace(/\\/g, "/"))
    .filter((file) => /\.tsx?$/.test(file));
  return new Map(files.map((file) => [file, readFileSync(join(SRC, file), "utf8")]));
}

export interface Node {
  type: string;
  [field: string]: unknown;
}

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value;

export const parse = (file: string, text: string): Node => parseSync(file, text).program as unknown as Node;
