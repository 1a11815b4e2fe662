// A value that stays the same object while its parts are equal.
import { useRef } from "preact/hooks";

/** For objects that are made anew at each render and that effects depend on. */
export function useUnchanged<T>(value: T, parts: readonly unknown[]): T {
  const last = useRef({ value, parts });
  const same =
    last.current.parts.length === parts.length &&
    parts.every((part, i) => Object.is(part, last.current.parts[i]));
  if (!same) last.current = { value, parts };
  return last.current.value;
}
