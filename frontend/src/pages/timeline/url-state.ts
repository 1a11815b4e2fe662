// The timeline's camera and the selected stretch of time, kept in the URL, and the keys.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { areaText, parseArea, type Area } from "../../widgets/timeline/selection-area";
import type { Camera } from "../../widgets/timeline/camera";
import { isCovered, isTyping } from "../../lib/dom";
import { parseRange } from "../../lib/time-range";
import { go, state } from "../../state/url";
import { useLater } from "../../widgets/controls/debounce";

const SETTLED_MS = 300;

/** What moves fast, kept in the URL once it rests; Back and links move it. */
function useSettled<T>(
  key: "range" | "area",
  parse: (text: string | null) => T | null,
  text: (value: T) => string,
): [T | null, (value: T | null) => void, (value: T) => string] {
  const told = state.value[key];
  const [value, set] = useState(() => parse(told));
  const written = useRef(told);
  const later = useLater(SETTLED_MS);
  useEffect(() => {
    if (told === written.current) return;
    written.current = told;
    set(parse(told));
  }, [told]);
  const move = (next: T | null): void => {
    set(next);
    later(() => {
      // Back or a link leads elsewhere on the recording, and this with it.
      if (state.value[key] !== written.current) return;
      written.current = next && text(next);
      // An event that was opened meanwhile stays open.
      go({ [key]: written.current, event: state.value.event }, "replace");
    });
  };
  /** What the URL has from now on: for who writes it together with something else. */
  const write = (now: T): string => {
    set(now);
    return (written.current = text(now));
  };
  return [value, move, write];
}

/** What the timeline shows: until somebody moves it what it begins with, of ranks that come later,
 * too. */
export function useCamera(first: Camera): [Camera, (camera: Camera) => void, (camera: Camera) => string] {
  const [moved, move, write] = useSettled(
    "range",
    parseCamera,
    ({ start, stop }) => `${Math.floor(start)}..${Math.ceil(stop)}`,
  );
  return [useMemo(() => moved ?? first, [moved, first.start, first.stop]), move, write];
}

/** The stretch of time that is selected, on the tracks of these ranks: of others, too, once they are
 * there. */
export function useArea(ranks: readonly number[]): [Area | null, (area: Area | null) => void] {
  const [text, move] = useSettled(
    "area",
    (told) => told,
    (told: string) => told,
  );
  const area = useMemo(() => parseArea(text, ranks), [text, ranks]);
  return [area, (next) => move(next && areaText(next, ranks))];
}

function parseCamera(text: string | null): Camera | null {
  const range = parseRange(text);
  return range && { start: range.start, stop: range.end };
}

export function useKeys(keys: Record<string, () => void>): void {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        event.defaultPrevented ||
        isTyping(event.target) ||
        isCovered()
      )
        return;
      const act = now.current[event.key];
      if (!act) return;
      act();
      event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
