// What the timeline draws comes in windows: asked for as the camera moves, a little more than is
// shown, and kept on the screen until the next one is there.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Timeline } from "../api";
import { span, type Camera } from "../base/camera";
import { isFolded, type Arrangement, type Line } from "../base/tracks";
import { asFailure, fetchView, type Failure } from "../fetch";
import type { Selected } from "../place";
import { entryAt } from "../widgets/scene";

/** How much more than the screen is asked for, on either side, as a share of it. */
const MARGIN = 0.5;
const SETTLED_MS = 60;

interface Asked {
  key: string;
  window: Camera;
  /** ns per part of the answer. */
  fine: number;
}

export interface Shown {
  scene: Timeline | null;
  failure: Failure | null;
  busy: boolean;
  retry: () => void;
}

/** The tracks within a screen above and below what is shown. */
function near(lines: readonly Line[], top: number, height: number): Line[] {
  return lines.filter((line) => line.kind === "track" && line.y + line.height > top - height && line.y < top + 2 * height);
}

export function useScene(selected: Selected, base: Timeline, camera: Camera, lines: readonly Line[], arrangement: Arrangement, scroll: { top: number; height: number }, width: number): Shown {
  const [got, setGot] = useState<{ asked: Asked; scene: Timeline } | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [attempt, setAttempt] = useState(0);
  const pending = useRef<Asked | null>(null);
  const tracks = useMemo(() => {
    const shown = new Set(near(lines, scroll.top, scroll.height).map((line) => line.id));
    const some = base.tracks.filter((track) => shown.has(track.id));
    const folded = some.filter((track) => isFolded(track, arrangement));
    const open = some.filter((track) => !folded.includes(track));
    return { open: open.map((t) => t.id).join(","), folded: folded.map((t) => t.id).join(",") };
  }, [lines, scroll.top, scroll.height, base, arrangement]);
  const key = JSON.stringify([selected.place.run, selected.place.rank, selected.place.span, selected.stamp, tracks, attempt]);
  useEffect(() => {
    const fine = span(camera) / width;
    if (serves(got?.asked, key, camera, fine)) return undefined;
    const window = { start: Math.floor(camera.start - MARGIN * span(camera)), stop: Math.ceil(camera.stop + MARGIN * span(camera)) };
    const asked = { key, window, fine };
    const controller = new AbortController();
    pending.current = asked;
    const timer = setTimeout(() => {
      const options = { start_ns: window.start, stop_ns: window.stop, width: Math.min(4000, Math.round(width * (1 + 2 * MARGIN))), tracks: tracks.open, folded: tracks.folded };
      fetchView("timeline", { ...selected.place, step: null }, options, { signal: controller.signal }).then(
        (scene) => { setFailure(null); setGot({ asked, scene }); },
        (error: unknown) => { if (!controller.signal.aborted) setFailure(asFailure(error)); },
      );
    }, got ? SETTLED_MS : 0);
    return () => { clearTimeout(timer); controller.abort(); };
  }, [key, camera.start, camera.stop, width, got]);
  const busy = !serves(got?.asked, key, camera, span(camera) / width);
  return { scene: got?.scene ?? null, failure, busy, retry: () => setAttempt(attempt + 1) };
}

/** Whether an answer is as fine as the screen and covers it. */
function serves(asked: Asked | undefined, key: string, camera: Camera, fine: number): boolean {
  if (!asked || asked.key !== key) return false;
  const ratio = asked.fine / fine;
  return ratio > 0.6 && ratio < 1.2 && asked.window.start <= camera.start && asked.window.stop >= camera.stop;
}

/** How busy the first device is over the whole recording, in equal parts, for the strip on top. */
export function densityOf(base: Timeline, parts: number): number[] {
  const curve = base.counters.find((counter) => counter.what === "utilisation");
  if (!curve) return [];
  const part = (base.stop_ns - base.start_ns) / parts;
  return Array.from({ length: parts }, (_, i) => {
    const entry = entryAt(base.curves, curve, base.start_ns + i * part);
    return entry === null ? 0 : (base.curves.value[entry] ?? 0);
  });
}
