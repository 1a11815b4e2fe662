// The timeline's camera, kept in the URL, and its keys.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Camera } from "../base/camera";
import { isTyping } from "../base/dom";
import { parseRange } from "../base/range";
import { go, state } from "../state";
import { useLater } from "../widgets/later";

const SETTLED_MS = 300;

/** The camera, kept in the URL once it rests; Back and links move it. */
export function useCamera(first: Camera): [Camera, (camera: Camera) => void] {
  const asked = parseRange(state.value.range);
  const [camera, setCamera] = useState<Camera>(asked ? { start: asked.start, stop: asked.end } : first);
  const written = useRef(state.value.range);
  const moved = useRef(false);
  const later = useLater(SETTLED_MS);
  useEffect(() => {
    if (state.value.range === written.current) return;
    written.current = state.value.range;
    moved.current = asked !== null;
    setCamera(asked ? { start: asked.start, stop: asked.end } : first);
  }, [state.value.range]);
  // Until somebody moves it, it shows what it began with, of ranks that come later, too.
  useEffect(() => {
    if (!moved.current && state.value.range === null) setCamera(first);
  }, [first.start, first.stop]);
  const move = (next: Camera): void => {
    setCamera(next);
    moved.current = true;
    later(() => {
      // Back or a link leads elsewhere on the recording, and the camera with it.
      if (state.value.range !== written.current) return;
      written.current = `${Math.floor(next.start)}..${Math.ceil(next.stop)}`;
      // An event that was opened meanwhile stays open.
      go({ range: written.current, event: state.value.event }, "replace");
    });
  };
  return [camera, move];
}

export function useKeys(keys: Record<string, () => void>): void {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
      const act = now.current[event.key];
      if (!act) return;
      act();
      event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
