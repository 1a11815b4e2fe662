// A file says in its first line what it is for: a reader finds the right file without opening others.
import type { Sources } from "./sources";

export function firstLine(sources: Sources): string[] {
  return [...sources]
    .filter(([, text]) => !/^(\/\/|\/\*\*) \S/.test(text))
    .map(([file]) => `${file}: the first line does not say what the file is for`);
}
