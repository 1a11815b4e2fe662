// Returns the keyboard focus when something closes.
import { useLayoutEffect } from "preact/hooks";

/** When what has the focus goes with the component, the focus returns to where it was when it came. */
export function useReturnFocus(): void {
  useLayoutEffect(() => {
    const before = document.activeElement;
    return () => {
      // After the component's elements have left the page: until then they may hold the focus.
      queueMicrotask(() => {
        const nowhere = document.activeElement === null || document.activeElement === document.body;
        if (nowhere && before instanceof HTMLElement && before.isConnected)
          before.focus({ preventScroll: true });
      });
    };
  }, []);
}
