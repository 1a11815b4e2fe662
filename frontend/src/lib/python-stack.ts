// Python stacks as torch writes them: frames, innermost first, separated by `;`.

/** The innermost frame that a reader can change: not torch's own, no built-in, no module's name. */
export function ownFrame(stack: string | null): string | null {
  const frames = stack?.split(";").filter(Boolean) ?? [];
  return frames.find((f) => !/^(<|nn\.Module: |torch\/)|\/torch\//.test(f)) ?? frames[0] ?? null;
}
