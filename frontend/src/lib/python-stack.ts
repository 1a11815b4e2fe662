// Python stacks as torch writes them: frames, innermost first, separated by `;`.

/** The innermost frame that a reader can change: not torch's own, no built-in, no module's name. */
export function ownFrame(stack: string | null): string | null {
  const frames = stack?.split(";").filter(Boolean) ?? [];
  return frames.find((f) => !/^(<|nn\.Module: |torch\/)|\/torch\//.test(f)) ?? frames[0] ?? null;
}

/** The start of a function's frame as stacks have it: `train.py(12): ` of `step (train.py:12)`. */
export function frameOf(title: string): string {
  const place = placeOf(title);
  return place ? `${place.file}(${place.line}): ` : title;
}

/** The name of a frame or a function without the folders of its file; other names as they are. */
export function withoutFolders(name: string): string {
  return name
    .replace(/^[^<(]*\/(?=[^/]+\.py\(\d+\)(: |$))/, "")
    .replace(/^(.+ \().*\/(?=[^/]+\.py:\d+\)$)/, "$1")
    .replace(/^\S.*\/(?=[^/]+\.py:\d+ in )/, "");
}

/** The file and the line in the title of a function: `step (train.py:12)`, the line where it begins, or
 * `train.py:12 in step`, that of a call; null of another name. */
export function placeOf(title: string | null): { file: string; line: number } | null {
  const [, file, line] =
    /^.+? \((.+\.py):(\d+)\)$/.exec(title ?? "") ?? /^(.+\.py):(\d+) in /.exec(title ?? "") ?? [];
  return file && line ? { file, line: Number(line) } : null;
}
