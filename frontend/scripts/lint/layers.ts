// Which room may import which: arrows point down, pages do not know each other, and nothing is a cycle.
import { dirname, join } from "node:path/posix";
import type { Sources } from "./sources";

/** The rooms, lowest first: a file imports from its own room and from those before it. */
const ROOMS = [
  "preference.ts",
  "i18n",
  "lib",
  "widgets",
  "api",
  "state",
  "pages",
  "app",
  "report",
  "index.ts",
];
/** Generated declarations that import nothing: every room may name the types of a result. */
const TYPES = "api/types.ts";
/** The other generated files. */
const GENERATED = ["api/sorts.ts", "api/windowed.ts"];

const room = (file: string): number => ROOMS.indexOf(file.split("/")[0] ?? "");
/** The folder of a page; the registry and what else lies in `pages/` itself belongs to none. */
const page = (file: string): string => /^pages\/([^/]+)\//.exec(file)?.[1] ?? "";

type Imports = ReadonlyMap<string, readonly string[]>;

function importsOf(sources: Sources): Imports {
  const ends = ["", ".ts", ".tsx", "/index.ts", "/index.tsx"];
  const found = (file: string, text: string): string[] =>
    [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)]
      .map((match) => join(dirname(file), match[1] ?? ""))
      .flatMap((path) => ends.map((end) => path + end).filter((other) => sources.has(other)))
      .filter((other) => other !== TYPES);
  return new Map([...sources].map(([file, text]) => [file, found(file, text)]));
}

/** Returns the files on a way from this file back to itself. */
function cycle(
  imports: Imports,
  file: string,
  way: readonly string[] = [file],
  seen = new Set<string>(),
): readonly string[] {
  for (const next of imports.get(file) ?? []) {
    if (next === way[0]) return [...way, next];
    if (seen.has(next)) continue;
    seen.add(next);
    const found = cycle(imports, next, [...way, next], seen);
    if (found.length) return found;
  }
  return [];
}

export function layers(sources: Sources): string[] {
  const imports = importsOf(sources);
  return [...imports].flatMap(([file, others]) => {
    const round = cycle(imports, file);
    const foreign = others.filter(
      (other) =>
        page(file) && room(other) === room(file) && ![page(file), "shared", ""].includes(page(other)),
    );
    return [
      ...(room(file) < 0 ? [`${file}: lies in no room`] : []),
      ...others
        .filter((other) => room(other) > room(file))
        .map((other) => `${file}: imports ${other}, a higher room`),
      ...(round.length ? [`${file}: is on a cycle: ${round.join(" > ")}`] : []),
      ...foreign.map((other) => `${file}: imports ${other}, of another page`),
    ];
  });
}

/** What one file alone may do, or none. */
const ONLY: readonly [RegExp, readonly string[]][] = [
  [/\bfetch\(/, ["api/client.ts"]],
  [/replaceState|location\.href/, ["state/url.ts"]],
  [/Accept-Language/, ["api/client.ts"]],
  [/localStorage/, ["preference.ts"]],
  [/innerHTML|insertAdjacentHTML|document\.write/, []],
];

/** One place of fetch, one of the URL, one of preferences, and no text that becomes markup. */
export const onePlace = (sources: Sources): string[] => [
  ...[...sources].flatMap(([file, text]) =>
    ONLY.filter(([pattern, files]) => pattern.test(text) && !files.includes(file)).map(
      ([pattern, files]) =>
        `${file}: has ${pattern.source}, which belongs to ${files.join(", ") || "no file"}`,
    ),
  ),
  ...ONLY.flatMap(([pattern, files]) =>
    files
      .filter((file) => !pattern.test(sources.get(file) ?? ""))
      .map((file) => `${file}: lacks ${pattern.source}, whose place it is`),
  ),
];

const MOST_COLUMNS = 110;
/** Lines that cannot be broken: one text, icon or regular expression; texts are in i18n. */
const UNBROKEN = /^\s*(\w+: )?(["`/]).*\2[a-z]*[,;]?$/;

export const lineLength = (sources: Sources): string[] =>
  [...sources]
    .filter(([file]) => file !== TYPES && !GENERATED.includes(file) && !file.startsWith("i18n/"))
    .flatMap(([file, text]) =>
      text
        .split("\n")
        .flatMap((line, at) =>
          line.length > MOST_COLUMNS && !UNBROKEN.test(line)
            ? [`${file}:${at + 1}: has ${line.length} columns, more than ${MOST_COLUMNS}`]
            : [],
        ),
    );
