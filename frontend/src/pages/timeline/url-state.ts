// The timeline's camera and the selected interval, kept in the URL, and the keys.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { areaText, parseArea, type Area } from "../../widgets/timeline/selection-area";
import type { Camera } from "../../widgets/timeline/camera";
import { isCovered, isTyping } from "../../lib/dom";
import { onKeyDown } from "../../lib/tensorboard-host";
import { useLatestCallback } from "../../lib/use-latest-callback";
import { useUnchanged } from "../../lib/use-unchanged";
import { parseRange } from "../../lib/time-range";
import { go, state } from "../../state/url";
import { useDebounce } from "../../widgets/controls/debounce";

const SETTLED_MS = 300;

interface Settled<T> {
  value: T | null;
  move: (value: T | null) => void;
  /** The text of a value that the URL has from now on: for who writes it together with something else. */
  write: (value: T) => string;
}

/** What moves fast, kept in the URL once it rests; Back and links move it. */
function useSettled<T>(
  key: "range" | "area",
  parse: (text: string | null) => T | null,
  text: (value: T) => string,
): Settled<T> {
  const current = state.value[key];
  const [value, set] = useState(() => parse(current));
  const written = useRef(current);
  const later = useDebounce(SETTLED_MS);
  const read = useLatestCallback(parse);
  useEffect(() => {
    if (current === written.current) return;
    written.current = current;
    set(read(current));
  }, [current]);
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
  const write = (now: T): string => {
    set(now);
    const writing = text(now);
    written.current = writing;
    return writing;
  };
  return { value, move, write };
}

export interface CameraState extends Omit<Settled<Camera>, "value" | "move"> {
  camera: Camera;
  move: (camera: Camera) => void;
}

/** What the timeline shows: until somebody moves it what it begins with, of ranks that come later,
 * too. */
export function useCamera(first: Camera): CameraState {
  const { value, move, write } = useSettled("range", parseCamera, cameraText);
  const begin = useUnchanged(first, [first.start, first.stop]);
  return { camera: value ?? begin, move, write };
}

/** The interval that is selected, on the tracks of these ranks: of others, too, once they are
 * there. */
export function useArea(ranks: readonly number[]): [Area | null, (area: Area | null) => void] {
  const { value, move } = useSettled<string>("area", asItIs, asItIs);
  const area = useMemo(() => parseArea(value, ranks), [value, ranks]);
  return [area, (next) => move(next && areaText(next, ranks))];
}

const asItIs = <T>(text: T): T => text;

const cameraText = ({ start, stop }: Camera): string => `${Math.floor(start)}..${Math.ceil(stop)}`;

function parseCamera(text: string | null): Camera | null {
  const range = parseRange(text);
  return range && { start: range.start, stop: range.end };
}

export const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

/** Not by instanceof: TensorBoard's page has a class of its own. */
const isBody = (target: EventTarget | null): boolean => (target as Element | null)?.tagName === "BODY";

export function useKeys(keys: Record<string, () => void>): void {
  const act = useLatestCallback((event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const action = keys[event.key];
    // An arrow belongs to what has the focus, and to the tracks if nothing has.
    if (ARROWS.includes(event.key) && (event.shiftKey || !isBody(event.target))) return;
    if (!action || isTyping(event.target) || isCovered()) return;
    action();
    event.preventDefault();
  });
  useEffect(() => onKeyDown(act), []);
}
