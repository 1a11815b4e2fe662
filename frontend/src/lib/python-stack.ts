// Python stacks as torch writes them: frames, innermost first, separated by `;`.

/** The innermost frame that a reader can change: not torch's own, no built-in, no module's name. */
export function ownFrame(stack: string | null): string | null {
  const frames = stack?.split(";").filter(Boolean) ?? [];
  return frames.find((f) => !/^(<|nn\.Module: |torch\/)|\/torch\//.test(f)) ?? frames[0] ?? null;
}

/** The name of a frame without the folders of its file; other names as they are. */
export function withoutFolders(name: string): string {
  return name.replace(/^[^<(]*\/(?=[^/]+\.py\(\d+\)(: |$))/, "");
}

/** The file and the line of a frame such as `train.py(12): step`; null if it has none. */
export function sourceOf(frame: string | null): { file: string; line: number } | null {
  const [, file, line] = /^(.+)\((\d+)\)(?:: |$)/.exec(frame ?? "") ?? [];
  return file && line ? { file, line: Number(line) } : null;
}
