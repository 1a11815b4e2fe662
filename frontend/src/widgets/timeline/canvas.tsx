// The canvas of a timeline: draws the scene, and turns wheel, drag and click into what they mean.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { panned, span, zoomed, type Camera } from "./camera";
import { heightOf, type Line } from "./track-layout";
import { useLatestCallback } from "../../lib/use-latest-callback";
import { t } from "../../i18n";
import { paint, type Picked } from "./painter";
import { paletteOf, useColors } from "../charts/canvas-colors";
import { counterAt, hit, linesByTrack, type Scene, type HitTarget } from "./scene";

/** A stretch of time as it was drawn: from one height to another, or with one of its edges moved. */
export interface DrawnArea extends Camera {
  heights: readonly [number, number] | null;
}

interface TimeCanvasProps {
  scene: Scene;
  camera: Camera;
  lines: readonly Line[];
  /** All that there is. */
  all: Camera;
  picked: Omit<Picked, "hover">;
  onCamera: (camera: Camera) => void;
  onPick: (rectangle: number | null) => void;
  onOpen: (rectangle: number) => void;
  onArea: (area: DrawnArea) => void;
  onHover: (at: number | null) => void;
  /** The lines that are on the screen or close to it. */
  onScroll: (top: number, height: number) => void;
  /** An arrow key: to the next range, or the one above or below. */
  onArrow: (key: string) => void;
  tooltip: (under: HitTarget) => ComponentChildren;
  heads: ComponentChildren;
}

export const HEADS_PX = 208;
const CLICK_PX = 4;
const EDGE_PX = 4;
const WHEEL = 1.0018;
const ARROWS: ReadonlySet<string> = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);

const TIP_PX = 14;

/** Where a tooltip of some height begins: below the pointer, above it where there is no room, and
 * where there is none either as far down as shows all of it. */
export function tipTop(y: number, tall: number, height: number): number {
  if (y + TIP_PX + tall <= height) return y + TIP_PX;
  if (y - TIP_PX - tall >= 0) return y - TIP_PX - tall;
  return Math.max(0, height - tall);
}

export function TimeCanvas({
  scene,
  camera,
  lines,
  all,
  picked,
  onCamera,
  onPick,
  onOpen,
  onArea,
  onHover,
  onScroll,
  onArrow,
  tooltip,
  heads,
}: TimeCanvasProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 800, height: 400 });
  const [top, setTop] = useState(0);
  const look = useColors();
  const [hover, setHover] = useState<{ under: HitTarget; x: number; y: number } | null>(null);
  const hovered = hover?.under.kind === "rectangle" ? hover.under.index : null;
  const [onEdge, setOnEdge] = useState(false);
  const drag = useRef<{
    x: number;
    height: number;
    camera: Camera;
    pan: boolean;
    moved: boolean;
    other: number | null;
  } | null>(null);
  const now = useRef({ camera, width: size.width });
  now.current = { camera, width: size.width - HEADS_PX };
  const width = Math.max(50, size.width - HEADS_PX);

  const scrolled = useLatestCallback(onScroll);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return undefined;
    const measure = (): void => {
      setSize({ width: box.clientWidth, height: box.clientHeight });
      scrolled(box.scrollTop, box.clientHeight);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);

  // Once per frame at most, however many events come.
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return undefined;
    const frame = requestAnimationFrame(() => {
      const ratio = window.devicePixelRatio || 1;
      const [w, h] = [Math.round(width * ratio), Math.round(size.height * ratio)];
      if (element.width !== w || element.height !== h) [element.width, element.height] = [w, h];
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const since = performance.now();
      const drawn = paint(
        context,
        scene,
        { camera, lines, width, height: size.height, top },
        { ...picked, hover: hovered },
        paletteOf(element),
      );
      element.dataset["drawn"] = String(drawn);
      element.dataset["ms"] = (performance.now() - since).toFixed(2);
    });
    return () => cancelAnimationFrame(frame);
  }, [scene, camera, lines, picked, hovered, size.height, width, top, look]);

  const moveTo = useLatestCallback(onCamera);
  // Not passive: the page must not zoom or go back under the wheel.
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const onWheel = (event: WheelEvent): void => {
      const { camera: from, width: px } = now.current;
      const x = event.clientX - element.getBoundingClientRect().left;
      if (event.ctrlKey || event.metaKey)
        moveTo(zoomed(from, WHEEL ** event.deltaY, from.start + (x / px) * span(from), all));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        moveTo(panned(from, (event.deltaX || event.deltaY) / px, all));
      else return;
      event.preventDefault();
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [all]);

  const place = (event: PointerEvent | MouseEvent): { x: number; y: number; at: number } => {
    const box = canvas.current?.getBoundingClientRect();
    const x = event.clientX - (box?.left ?? 0);
    return { x, y: event.clientY - (box?.top ?? 0), at: camera.start + (x / width) * span(camera) };
  };
  const under = (x: number, y: number): number | null =>
    hit(scene, linesByTrack(lines), camera, width, x, y + top);

  /** Near an edge of the selected stretch: where the other one is. */
  const otherEdge = (x: number): number | null => {
    const { start, stop } = picked.area ?? { start: NaN, stop: NaN };
    const away = (at: number): number => Math.abs(((at - camera.start) / span(camera)) * width - x);
    if (!(Math.min(away(start), away(stop)) <= EDGE_PX)) return null;
    return away(start) < away(stop) ? stop : start;
  };

  const onPointerDown = (event: PointerEvent): void => {
    if (event.button !== 0 && event.button !== 1) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    const { x, y } = place(event);
    const pan = event.shiftKey || event.button === 1;
    drag.current = {
      x: event.clientX,
      height: y + top,
      camera,
      pan,
      moved: false,
      other: pan ? null : otherEdge(x),
    };
    event.preventDefault();
    window.focus(); // which was just prevented, and without it no key comes here
  };
  const onPointerMove = (event: PointerEvent): void => {
    const { x, y, at } = place(event);
    onHover(at);
    const from = drag.current;
    if (!from) {
      setOnEdge(otherEdge(x) !== null);
      const index = under(x, y);
      const found: HitTarget | null =
        index === null ? counterAt(scene, lines, camera, width, x, y + top) : { kind: "rectangle", index };
      setHover(found && { under: found, x, y });
      return;
    }
    if (!from.moved && Math.abs(event.clientX - from.x) < CLICK_PX) return;
    from.moved = true;
    setHover(null);
    if (from.pan) onCamera(panned(from.camera, (from.x - event.clientX) / width, all));
    else {
      const other = from.other ?? at - ((event.clientX - from.x) / width) * span(camera);
      const heights: [number, number] = [Math.min(y + top, from.height), Math.max(y + top, from.height)];
      onArea({
        start: Math.min(at, other),
        stop: Math.max(at, other),
        heights: from.other === null ? heights : null,
      });
    }
  };
  const onPointerUp = (event: PointerEvent): void => {
    const from = drag.current;
    drag.current = null;
    if (!from || from.moved || event.button !== 0) return;
    const { x, y } = place(event);
    onPick(under(x, y));
  };
  const tip = hover && (hovered === null || scene.rectangles.start_ns.length > hovered) ? hover : null;
  const tipBox = useRef<HTMLDivElement>(null);
  const [tall, setTall] = useState(0);
  useLayoutEffect(() => {
    if (tipBox.current) setTall(tipBox.current.offsetHeight);
  });
  return (
    <div
      class="timecanvas"
      ref={scroller}
      tabIndex={0}
      role="application"
      aria-label={t.widgets.timelineKeys}
      onKeyDown={(e) => {
        if (ARROWS.has(e.key) && !e.shiftKey && !e.ctrlKey && !e.metaKey && !e.altKey) {
          e.preventDefault();
          onArrow(e.key);
        }
      }}
      onScroll={(e) => {
        setTop(e.currentTarget.scrollTop);
        setHover(null);
        onScroll(e.currentTarget.scrollTop, e.currentTarget.clientHeight);
      }}
    >
      <div class="timelines" style={{ height: `${heightOf(lines)}px` }}>
        <div class="timeheads" style={{ width: `${HEADS_PX}px` }}>
          {heads}
        </div>
        <div class="timeview" style={{ height: `${size.height}px` }}>
          <canvas
            ref={canvas}
            data-testid="timeline-canvas"
            data-rectangles={scene.rectangles.start_ns.length}
            data-start={Math.round(camera.start)}
            data-stop={Math.round(camera.stop)}
            style={{
              width: `${width}px`,
              height: `${size.height}px`,
              cursor: onEdge ? "ew-resize" : hovered !== null ? "pointer" : "crosshair",
            }}
            onPointerDown={onPointerDown}
            onPointerMove={onPointerMove}
            onPointerUp={onPointerUp}
            onPointerLeave={() => {
              setHover(null);
              setOnEdge(false);
              onHover(null);
            }}
            onPointerCancel={() => {
              drag.current = null;
            }}
            onDblClick={(e) => {
              const { x, y } = place(e);
              const rectangle = under(x, y);
              if (rectangle !== null) onOpen(rectangle);
            }}
          />
          {tip && (
            <div
              class="tooltip"
              role="status"
              data-testid="timeline-tooltip"
              ref={tipBox}
              style={{
                left: `${tip.x + 300 > width ? tip.x - 288 : tip.x + TIP_PX}px`,
                top: `${tipTop(tip.y, tall, size.height)}px`,
              }}
            >
              {tooltip(tip.under)}
            </div>
          )}
        </div>
      </div>
    </div>
  );
}
