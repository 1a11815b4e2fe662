// The whole recording in a strip, with the part that is shown: drag to look elsewhere.
import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { centered, span, zoomed, type Camera } from "./camera";
import { duration } from "../../lib/format";
import { t } from "../../i18n";
import { LETTER_PX, timeTicks } from "../charts/ticks";
import "./minimap.css";

export interface Phase extends Camera {
  /** As theme.css has its color: `--phase-NAME`. */
  kind: string;
  title: string;
}

interface MinimapProps {
  camera: Camera;
  /** All that there is. */
  all: Camera;
  /** How much is going on, 0 to 1, in equal parts of the recording. */
  density: readonly number[];
  /** The recording that this is of. */
  of: Camera;
  marks: readonly number[];
  /** The phases of the recording, in a thin strip at its foot. */
  phases?: readonly Phase[];
  onCamera: (camera: Camera) => void;
  left: number;
  /** Beside the ruler, above the names of tracks. */
  children?: ComponentChildren;
}

const HEIGHT = 34;
const RULER = 20;
const PHASE = 4;

export function Minimap(props: MinimapProps) {
  const { camera, all, density, of, marks, phases = [], onCamera, left, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const anchor = useRef<number | null>(null);
  const width = useWidthBeside(box, left);
  const x = (at: number): number => ((at - all.start) / Math.max(1, span(all))) * width;
  const moved = (event: PointerEvent): number =>
    all.start +
    ((event.clientX - (box.current?.getBoundingClientRect().left ?? 0) - left) / width) * span(all);
  const center = (at: number): void => onCamera(centered(camera, at, all));
  const shown = { from: Math.max(0, x(camera.start)), to: Math.min(width, x(camera.stop)) };
  const [first, step] = [x(of.start), (x(of.stop) - x(of.start)) / Math.max(1, density.length)];
  const dragging = {
    onPointerDown: (e: PointerEvent) => {
      (e.currentTarget as Element).setPointerCapture(e.pointerId);
      anchor.current = moved(e);
      center(moved(e));
    },
    onPointerMove: (e: PointerEvent) => {
      if (anchor.current !== null) center(moved(e));
    },
    onPointerUp: () => {
      anchor.current = null;
    },
    onPointerCancel: () => {
      anchor.current = null;
    },
  };
  return (
    <div class="minimap" ref={box}>
      <div class="corner" style={{ width: `${left}px` }}>
        {t.widgets.shown(duration(Math.round(span(camera))))}
        {children}
      </div>
      <svg width={width} height={HEIGHT} data-testid="minimap" aria-hidden="true" {...dragging}>
        <path class="density" d={outline(density, first, step)} />
        <rect class="beyond" x={0} width={shown.from} height={HEIGHT} />
        <rect class="beyond" x={shown.to} width={Math.max(0, width - shown.to)} height={HEIGHT} />
        <rect
          class="brush"
          x={shown.from}
          width={Math.max(2, shown.to - shown.from)}
          height={HEIGHT - 1}
          y={0.5}
        />
        <Phases of={phases} x={x} />
        {marks.map((at) => (
          <line key={at} class="mark" x1={x(at)} x2={x(at)} y2={HEIGHT} />
        ))}
      </svg>
      <Ruler {...{ camera, all, width, left, onCamera }} />
    </div>
  );
}

function Phases({ of, x }: { of: readonly Phase[]; x: (at: number) => number }) {
  return (
    <>
      {of.map((one) => (
        <rect
          key={one.start}
          class="phase"
          style={{ "--fill": `var(--phase-${one.kind})` }}
          x={x(one.start)}
          width={Math.max(1, x(one.stop) - x(one.start))}
          y={HEIGHT - PHASE}
          height={PHASE}
        >
          <title>{one.title}</title>
        </rect>
      ))}
    </>
  );
}

/** The width of an element without what is left in it. */
function useWidthBeside(box: RefObject<HTMLElement | null>, left: number): number {
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => {
    if (!box.current) return undefined;
    const observer = new ResizeObserver(
      ([entry]) => entry && setWidth(Math.max(50, entry.contentRect.width - left)),
    );
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box, left]);
  return width;
}

interface RulerProps extends Pick<MinimapProps, "camera" | "all" | "left" | "onCamera"> {
  width: number;
}

/** A shorter drag was meant as a click. */
const DRAG_PX = 4;

/** The times of the part that is shown: a drag zooms to what it goes over. */
function Ruler({ camera, all, width, left, onCamera }: RulerProps) {
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const scale = width / span(camera);
  const place = (event: PointerEvent): number =>
    event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
  const zoom = (): void => {
    setDrag(null);
    if (!drag || Math.abs(drag.to - drag.from) < DRAG_PX) return;
    const [start, stop] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)].map(
      (px) => camera.start + px / scale,
    );
    onCamera(zoomed({ start: start ?? 0, stop: stop ?? 0 }, 1, start ?? 0, all));
  };
  return (
    <svg
      class="ruler"
      width={width}
      height={RULER}
      style={{ marginLeft: `${left}px` }}
      aria-hidden="true"
      data-testid="time-axis"
      onPointerDown={(e) => {
        e.currentTarget.setPointerCapture(e.pointerId);
        setDrag({ from: place(e), to: place(e) });
      }}
      onPointerMove={(e) => {
        if (drag) setDrag({ from: drag.from, to: place(e) });
      }}
      onPointerUp={zoom}
      onPointerCancel={() => setDrag(null)}
    >
      {drag && (
        <rect
          class="dragged"
          x={Math.min(drag.from, drag.to)}
          width={Math.abs(drag.to - drag.from)}
          height={RULER}
        />
      )}
      {timeTicks(camera.start, camera.stop, width / 120).map((tick) => {
        const at = (tick.at - camera.start) * scale;
        // Left of the last tick, where there is no room on its right.
        const fits = at + 3 + tick.label.length * LETTER_PX < width;
        return (
          <g key={tick.at}>
            <line x1={at} x2={at} y1={RULER - 5} y2={RULER} />
            <text x={fits ? at + 3 : at - 3} y={13} text-anchor={fits ? "start" : "end"}>
              {tick.label}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/** The density as steps from the left, closed along the bottom. */
function outline(density: readonly number[], first: number, step: number): string {
  const parts = density.map((value, i) => {
    const top = HEIGHT - value * (HEIGHT - 4);
    return `V${top.toFixed(1)}H${(first + (i + 1) * step).toFixed(1)}`;
  });
  return `M${first} ${HEIGHT}${parts.join("")}V${HEIGHT}z`;
}
