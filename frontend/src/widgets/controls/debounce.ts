// Runs a function once the user pauses.
import { useLayoutEffect, useRef } from "preact/hooks";

/** Runs the last of what it is given once nothing came for `delay_ms`; nothing once the page is left.
 * A layout effect, because others are cleaned up some frames after their component is gone: what
 * ran in between would be written into the address that Back led to. */
export function useDebounce(delay_ms: number): (run: () => void) => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useLayoutEffect(() => () => clearTimeout(timer.current), []);
  return (run) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(run, delay_ms);
  };
}
