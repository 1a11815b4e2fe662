// The width of the timeline's canvas.
import { useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** Measured before anything is asked of the server, so that it is as wide as the page. */
export function useCanvasWidth(page: RefObject<HTMLDivElement | null>, heads: number): number {
  const [width, setWidth] = useState(1000);
  useLayoutEffect(() => {
    const element = page.current;
    if (!element) return undefined;
    const measure = (): void => setWidth(Math.max(100, Math.round(element.clientWidth - heads)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [page, heads]);
  return width;
}
