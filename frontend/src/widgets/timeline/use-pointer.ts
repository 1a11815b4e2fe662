// The pointer on the timeline's canvas: hover, click, and drag to select an interval or to move.
import { useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { panned, span, type Camera } from "./camera";
import { hit, linesByTrack, valueAt, type HitTarget, type Scene } from "./scene";
import type { Area } from "./selection-area";
import type { Line } from "./track-layout";

/** An interval as it was drawn: from one height to another, or with one of its edges moved. */
export interface DrawnArea extends Camera {
  heights: readonly [number, number] | null;
}

export interface PointerEvents {
  onCamera: (camera: Camera) => void;
  onPick: (rectangle: number | null) => void;
  onOpen: (rectangle: number) => void;
  onArea: (area: DrawnArea) => void;
  onHover: (at: number | null) => void;
}

interface OnCanvas {
  scene: Scene;
  camera: Camera;
  lines: readonly Line[];
  all: Camera;
  area: Area | null;
  width: number;
  /** How far it is scrolled down. */
  top: number;
}

interface Hover {
  under: HitTarget;
  x: number;
  y: number;
}

interface Drag {
  x: number;
  height: number;
  camera: Camera;
  pan: boolean;
  moved: boolean;
  /** The edge of the selected interval that stays where it is. */
  other: number | null;
}

const CLICK_PX = 4;
const EDGE_PX = 4;

export function usePointer(canvas: RefObject<HTMLCanvasElement | null>, shown: OnCanvas, on: PointerEvents) {
  const { camera, all, width, top } = shown;
  const { hover, onEdge, under, edge, lookAt, clearHover, leave } = useLook(shown);
  const drag = useRef<Drag | null>(null);
  const place = (event: PointerEvent | MouseEvent): { x: number; y: number; at: number } => {
    const box = canvas.current?.getBoundingClientRect();
    const x = event.clientX - (box?.left ?? 0);
    return { x, y: event.clientY - (box?.top ?? 0), at: camera.start + (x / width) * span(camera) };
  };
  const onPointerDown = (event: PointerEvent): void => {
    if (event.button !== 0 && event.button !== 1) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    const { x, y } = place(event);
    drag.current = dragFrom(event, y + top, camera, edge(x));
    event.preventDefault();
    takeKeys(canvas.current);
  };
  const onPointerMove = (event: PointerEvent): void => {
    const { x, y, at } = place(event);
    on.onHover(at);
    const from = drag.current;
    if (!from) {
      lookAt(x, y);
      return;
    }
    if (!from.moved && Math.abs(event.clientX - from.x) < CLICK_PX) return;
    from.moved = true;
    clearHover();
    if (from.pan) {
      on.onCamera(panned(from.camera, (from.x - event.clientX) / width, all));
      return;
    }
    on.onArea(areaOf(from, { x: event.clientX, height: y + top, at }, { camera, width }));
  };
  const onPointerUp = (event: PointerEvent): void => {
    const from = drag.current;
    drag.current = null;
    if (!from || from.moved || event.button !== 0) return;
    const { x, y } = place(event);
    on.onPick(under(x, y));
  };
  const handlers = {
    onPointerDown,
    onPointerMove,
    onPointerUp,
    onPointerLeave: (): void => {
      leave();
      on.onHover(null);
    },
    onPointerCancel: (): void => {
      drag.current = null;
    },
    onDblClick: (event: MouseEvent): void => {
      const { x, y } = place(event);
      const rectangle = under(x, y);
      if (rectangle !== null) on.onOpen(rectangle);
    },
  };
  return { hover, clearHover, onEdge, handlers };
}

/** A press that was prevented gives neither the window nor an element the focus: no key would come. */
function takeKeys(canvas: HTMLCanvasElement | null): void {
  window.focus();
  canvas?.closest<HTMLElement>("[tabindex]")?.focus({ preventScroll: true });
}

/** What is under the pointer: a rectangle, a counter, or an edge of the selected interval. */
function useLook({ scene, camera, lines, area, width, top }: OnCanvas) {
  const [hover, setHover] = useState<Hover | null>(null);
  const [onEdge, setOnEdge] = useState(false);
  const under = (x: number, y: number): number | null =>
    hit(scene, linesByTrack(lines), camera, width, x, y + top);
  const edge = (x: number): number | null => otherEdge(area, camera, width, x);

  const lookAt = (x: number, y: number): void => {
    setOnEdge(edge(x) !== null);
    const index = under(x, y);
    const found: HitTarget | null =
      index === null ? valueAt(scene, lines, camera, width, x, y + top) : { kind: "rectangle", index };
    setHover(found && { under: found, x, y });
  };
  const clearHover = (): void => setHover(null);
  const leave = (): void => {
    clearHover();
    setOnEdge(false);
  };
  return { hover, onEdge, under, edge, lookAt, clearHover, leave };
}

/** Shift and the middle button move the picture; `other` is the edge that stays, if one is dragged. */
function dragFrom(event: PointerEvent, height: number, camera: Camera, other: number | null): Drag {
  const pan = event.shiftKey || event.button === 1;
  return { x: event.clientX, height, camera, pan, moved: false, other: pan ? null : other };
}

/** What a drag selects: from where it began, or from the edge that stays. */
function areaOf(
  from: Drag,
  now: { x: number; height: number; at: number },
  { camera, width }: Pick<OnCanvas, "camera" | "width">,
): DrawnArea {
  const other = from.other ?? now.at - ((now.x - from.x) / width) * span(camera);
  const heights: [number, number] = [Math.min(now.height, from.height), Math.max(now.height, from.height)];
  return {
    start: Math.min(now.at, other),
    stop: Math.max(now.at, other),
    heights: from.other === null ? heights : null,
  };
}

/** Near an edge of the selected interval: where the other one is. */
function otherEdge(area: Area | null, camera: Camera, width: number, x: number): number | null {
  if (!area) return null;
  const away = (at: number): number => Math.abs(((at - camera.start) / span(camera)) * width - x);
  if (Math.min(away(area.start), away(area.stop)) > EDGE_PX) return null;
  return away(area.start) < away(area.stop) ? area.stop : area.start;
}
