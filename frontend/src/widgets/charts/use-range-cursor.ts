// The cursor of an area chart, and the part of it that is being selected.
import { useState } from "preact/hooks";
import type { RefObject } from "preact";
import type { Scale } from "./area-layout";

/** A shorter drag is a click. */
const LEAST_PX = 4;

/** The pointer moves the cursor and drags; arrow keys move it, with Shift they select, Enter ends that. */
export function useRangeCursor(
  box: RefObject<HTMLElement | null>,
  scale: Scale,
  onSelect: (start: number, end: number) => void,
) {
  const { start, end, x, time } = scale;
  const [hover, setHover] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const over = (event: PointerEvent): number =>
    time(event.clientX - (box.current?.getBoundingClientRect().left ?? 0));
  const finish = (to: number | null): void => {
    const from = anchor;
    setAnchor(null);
    if (from === null || to === null || Math.abs(x(to) - x(from)) < LEAST_PX) return;
    setHover(null);
    onSelect(Math.min(from, to), Math.max(from, to));
  };
  const moveTo = (to: number, now: number, selects: boolean): void => {
    if (!selects) setAnchor(null);
    else if (anchor === null) setAnchor(now);
    setHover(Math.round(Math.max(start, Math.min(end, to))));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const now = hover ?? start;
    const to = target(event.key, now, scale);
    if (to !== undefined) moveTo(to, now, event.shiftKey);
    else if (event.key === "Enter" && anchor !== null) finish(hover);
    else if (event.key === "Escape" && anchor !== null) setAnchor(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const handlers = {
    onPointerDown: (event: PointerEvent): void => {
      if (event.button !== 0) return;
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      setAnchor(over(event));
    },
    onPointerMove: (event: PointerEvent): void => setHover(over(event)),
    onPointerUp: (event: PointerEvent): void => finish(over(event)),
    onPointerCancel: (): void => setAnchor(null),
    onPointerLeave: (): void => {
      if (anchor === null) setHover(null);
    },
    onBlur: (): void => {
      setHover(null);
      setAnchor(null);
    },
    onKeyDown,
  };
  return { hover, anchor, handlers };
}

/** Where a key moves the cursor: by a hundredth of the chart, or to its edges. */
function target(key: string, now: number, { start, end }: Scale): number | undefined {
  const step = Math.max(1, (end - start) / 100);
  const steps: Record<string, number> = {
    ArrowRight: now + step,
    ArrowLeft: now - step,
    Home: start,
    End: end,
  };
  return steps[key];
}
