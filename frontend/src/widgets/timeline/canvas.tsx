// The canvas of a timeline: draws the scene, and turns wheel, drag and click into what they mean.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren, RefObject } from "preact";
import { panned, span, zoomed, type Camera } from "./camera";
import { heightOf, type Line } from "./track-layout";
import { useLatestCallback } from "../../lib/use-latest-callback";
import { t } from "../../i18n";
import { paint, type Picked } from "./painter";
import { paletteOf, useColors, type Palette } from "../charts/canvas-colors";
import type { HitTarget, Scene, View } from "./scene";
import { Edge } from "../controls/edge";
import { usePointer, type PointerEvents } from "./use-pointer";
import "./canvas.css";

interface TimeCanvasProps extends PointerEvents {
  scene: Scene;
  camera: Camera;
  lines: readonly Line[];
  /** All that there is. */
  all: Camera;
  picked: Omit<Picked, "hover">;
  /** The rectangle that the pointer is on changed; null: on none. */
  onLook?: (rectangle: number | null) => void;
  /** The lines that are on the screen or close to it. */
  onScroll: (top: number, height: number) => void;
  /** An arrow key: to the next range, or the one above or below. */
  onArrow: (key: string) => void;
  tooltip: (under: HitTarget) => ComponentChildren;
  heads: ComponentChildren;
  /** The width of the names of tracks. */
  left: number;
  onLeft: (px: number | null) => void;
}

const nothing = (): void => undefined;

function useLook(hovered: number | null, onLook: (rectangle: number | null) => void): void {
  const look = useLatestCallback(onLook);
  useEffect(() => look(hovered), [hovered, look]);
}

/** The width of the names of tracks, unless the reader has another. */
export const HEADS_PX = 208;
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

export function TimeCanvas(props: TimeCanvasProps) {
  const { scene, camera, lines, all, picked, onScroll, onArrow } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [top, setTop] = useState(0);
  const { height, ...size } = useSize(scroller, onScroll);
  const width = Math.max(50, size.width - props.left);
  const { hover, clearHover, onEdge, handlers } = usePointer(
    canvas,
    { scene, camera, lines, all, area: picked.area, width, top },
    props,
  );
  const hovered = hover?.under.kind === "rectangle" ? hover.under.index : null;
  useLook(hovered, props.onLook ?? nothing);
  usePainting(canvas, scene, { camera, lines, width, height, top }, picked, hovered);
  useWheel(canvas, props);
  const tip = hover && (hovered === null || scene.rectangles.start_ns.length > hovered) ? hover : null;
  return (
    <div
      class="timecanvas"
      ref={scroller}
      tabIndex={0}
      role="application"
      aria-label={t.widgets.timelineKeys}
      onKeyDown={(e) => walk(e, onArrow)}
      onScroll={(e) => {
        setTop(e.currentTarget.scrollTop);
        clearHover();
        onScroll(e.currentTarget.scrollTop, e.currentTarget.clientHeight);
      }}
    >
      <div class="timelines" style={{ height: `${heightOf(lines)}px` }}>
        <div class="timeheads" style={{ width: `${props.left}px` }}>
          {props.heads}
          <HeadsEdge width={props.left} set={props.onLeft} />
        </div>
        <div class="timeview" style={{ height: `${height}px` }}>
          <canvas
            ref={canvas}
            data-testid="timeline-canvas"
            data-rectangles={scene.rectangles.start_ns.length}
            data-start={Math.round(camera.start)}
            data-stop={Math.round(camera.stop)}
            style={{
              width: `${width}px`,
              height: `${height}px`,
              cursor: onEdge ? "ew-resize" : hovered !== null ? "pointer" : "crosshair",
            }}
            {...handlers}
          />
          {tip && (
            <Tip x={tip.x} y={tip.y} width={width} height={height}>
              {props.tooltip(tip.under)}
            </Tip>
          )}
        </div>
      </div>
    </div>
  );
}

const LEAST_HEADS_PX = 90;
const MOST_HEADS_PX = 520;

/** The width that the names of tracks may have. */
export const fittingHeads = (px: number): number =>
  Math.round(Math.max(LEAST_HEADS_PX, Math.min(px, MOST_HEADS_PX)));

/** Between the names and the canvas: drag it, or move it by the arrow keys. */
function HeadsEdge({ width, set }: { width: number; set: (px: number | null) => void }) {
  return (
    <Edge
      class="headsedge"
      testid="heads-edge"
      label={t.widgets.headsEdge}
      help={t.widgets.edgeHelp}
      direction="across"
      size={width}
      least={LEAST_HEADS_PX}
      most={MOST_HEADS_PX}
      set={(px) => set(px === null ? null : fittingHeads(px))}
    />
  );
}

function walk(event: KeyboardEvent, onArrow: (key: string) => void): void {
  if (!ARROWS.has(event.key) || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  onArrow(event.key);
}

/** The size of what scrolls. */
function useSize(
  scroller: RefObject<HTMLDivElement | null>,
  onScroll: TimeCanvasProps["onScroll"],
): { width: number; height: number } {
  const [size, setSize] = useState({ width: 800, height: 400 });
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
  }, [scroller]);
  return size;
}

/** Draws the scene: once per frame at most, however many events come. */
function usePainting(
  canvas: RefObject<HTMLCanvasElement | null>,
  scene: Scene,
  { camera, lines, width, height, top }: View,
  picked: Omit<Picked, "hover">,
  hover: number | null,
): void {
  const look = useColors();
  const last = useRef<{ look: number; palette: Palette } | null>(null);
  // Reading the theme takes as long as drawing: once, until it changes.
  const colors = useLatestCallback((element: Element): Palette => {
    if (last.current?.look === look) return last.current.palette;
    const palette = paletteOf(element);
    // Without its style sheet the page has no colors yet.
    if (palette.ink !== "") last.current = { look, palette };
    return palette;
  });
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return undefined;
    const frame = requestAnimationFrame(() => {
      const ratio = window.devicePixelRatio || 1;
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (element.width !== w || element.height !== h) [element.width, element.height] = [w, h];
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const since = performance.now();
      const view = { camera, lines, width, height, top };
      const drawn = paint(context, scene, view, { ...picked, hover }, colors(element));
      element.dataset["drawn"] = String(drawn);
      element.dataset["ms"] = (performance.now() - since).toFixed(2);
    });
    return () => cancelAnimationFrame(frame);
  }, [canvas, scene, camera, lines, picked, hover, width, height, top, look]);
}

/** The wheel zooms with Ctrl and moves with Shift. */
function useWheel(
  canvas: RefObject<HTMLCanvasElement | null>,
  { camera, all, onCamera }: TimeCanvasProps,
): void {
  const onWheel = useLatestCallback((event: WheelEvent): void => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return;
    const x = event.clientX - box.left;
    if (event.ctrlKey || event.metaKey)
      onCamera(zoomed(camera, WHEEL ** event.deltaY, camera.start + (x / box.width) * span(camera), all));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      onCamera(panned(camera, (event.deltaX || event.deltaY) / box.width, all));
    else return;
    event.preventDefault();
  });
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    // Not passive: the page must not zoom or go back under the wheel.
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [canvas]);
}

/** A tooltip beside the pointer, moved so that all of it is seen. */
function Tip({
  x,
  y,
  width,
  height,
  children,
}: {
  x: number;
  y: number;
  width: number;
  height: number;
  children: ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [tall, setTall] = useState(0);
  useLayoutEffect(() => {
    if (box.current) setTall(box.current.offsetHeight);
  });
  return (
    <div
      class="tooltip"
      role="status"
      data-testid="timeline-tooltip"
      ref={box}
      style={{
        left: `${x + 300 > width ? x - 288 : x + TIP_PX}px`,
        top: `${tipTop(y, tall, height)}px`,
      }}
    >
      {children}
    </div>
  );
}
