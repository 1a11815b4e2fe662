// A callback that stays the same function and always runs the latest closure.
import { useCallback, useRef } from "preact/hooks";

/** For handlers that an effect or a listener calls later: it need not run again for each new one. */
export function useLatestCallback<Values extends unknown[], Result>(
  callback: (...values: Values) => Result,
): (...values: Values) => Result {
  const latest = useRef(callback);
  latest.current = callback;
  return useCallback((...values: Values) => latest.current(...values), []);
}
