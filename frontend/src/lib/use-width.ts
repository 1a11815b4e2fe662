// The width of an element, kept up to date.
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** Until the element is measured, and while it is hidden, the last width that is known. */
export function useWidth(element: RefObject<HTMLElement | null>, first: number): number {
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    if (!element.current) return undefined;
    const observer = new ResizeObserver(
      ([entry]) => entry && entry.contentRect.width > 0 && setWidth(entry.contentRect.width),
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
