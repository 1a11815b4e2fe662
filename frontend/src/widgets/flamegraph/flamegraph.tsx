// A flame graph on a canvas, root on top or at the bottom: boxes as wide as their time. Click or Enter zooms.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLatestCallback } from "../../lib/use-latest-callback";
import { useWidth } from "../../lib/use-width";
import { t } from "../../i18n";
import { draw, type Look } from "./canvas";
import { folded, leadingRows } from "./fold";
import { BOX_PX, boxAt, layout, neighbour, type FlameBox, type Placed } from "./layout";
import { useColors } from "../charts/canvas-colors";
import "./flamegraph.css";

interface FlameGraphProps {
  boxes: readonly FlameBox[];
  /** What the whole width is. */
  total: number;
  /** Whether it grows upward, from the root at the bottom. */
  upward?: boolean;
  /** Whether the first box is one that was zoomed to: it stays. */
  zoomed?: boolean;
  testid?: string;
  /** Boxes with this text stand out. */
  search: string;
  /** In words, for those who cannot see it. */
  label: string;
  /** The box under the pointer or the keyboard, or null. */
  onLook: (box: number | null) => void;
  onZoom: (box: number) => void;
  onOut: () => void;
  /** Handed out so that the page can save the picture. */
  onCanvas: (canvas: HTMLCanvasElement | null) => void;
}

export function FlameGraph(given: FlameGraphProps) {
  const { props, rows } = useFolded(given);
  const { boxes, search, upward = false } = props;
  const outer = useRef<HTMLDivElement>(null);
  const width = useWidth(outer, 800);
  const look = useColors();
  const placed = useMemo(() => layout(boxes, props.total, upward), [boxes, props.total, upward]);
  const height = (placed.depth + 1) * BOX_PX;
  const canvas = useHandedOut(props.onCanvas);
  const { hover, focus, onKeyDown, pointer } = useFocus(outer, canvas, placed, props);
  // What is next to the root is seen first.
  useLayoutEffect(() => {
    if (upward) outer.current?.scrollTo({ top: outer.current.scrollHeight });
  }, [placed, upward]);
  useLayoutEffect(() => {
    const shown: Look = { hover: hover ?? focus, focus, search: search.trim().toLowerCase() };
    if (canvas.current) draw(canvas.current, placed, boxes, width, height, shown);
  }, [placed, boxes, width, height, hover, focus, search, look, canvas]);
  return (
    <div
      class="flamegraph"
      ref={outer}
      tabIndex={0}
      role="application"
      aria-label={t.widgets.flame.keys(props.label)}
      onKeyDown={onKeyDown}
      data-testid={props.testid ?? "flamegraph"}
      data-boxes={given.boxes.length}
      data-folded={rows}
      data-focus={focus === null ? "" : (boxes[focus]?.name ?? "")}
    >
      <canvas
        ref={canvas}
        style={{ width: `${width}px`, height: `${height}px`, cursor: hover === null ? "default" : "pointer" }}
        {...pointer}
      />
    </div>
  );
}

/** The graph with its leading rows as one, which a click or Enter opens and Escape closes again. */
function useFolded(given: FlameGraphProps): { props: FlameGraphProps; rows: number } {
  const { boxes, upward = false, zoomed = false, onLook, onZoom, onOut } = given;
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [boxes]);
  const leading = useMemo(() => (upward || zoomed ? 0 : leadingRows(boxes)), [boxes, upward, zoomed]);
  const rows = isOpen ? 0 : leading;
  const shown = useMemo(() => folded(boxes, rows, t.widgets.flame.above(rows)), [boxes, rows]);
  /** Of the rows that are one, the innermost. */
  const rowOf = (box: number): number => (rows === 0 ? box : box + rows - 1);
  const props = {
    ...given,
    boxes: shown,
    onLook: (box: number | null) => onLook(box === null ? null : rowOf(box)),
    onZoom: (box: number) => (rows > 0 && box === 0 ? setOpen(true) : onZoom(rowOf(box))),
    onOut: () => {
      setOpen(false);
      onOut();
    },
  };
  return { props, rows };
}

/** The canvas, which the page has as long as it is there. */
function useHandedOut(onCanvas: FlameGraphProps["onCanvas"]): RefObject<HTMLCanvasElement | null> {
  const canvas = useRef<HTMLCanvasElement>(null);
  const handOut = useLatestCallback(onCanvas);
  useEffect(() => {
    handOut(canvas.current);
    return () => handOut(null);
  }, []);
  return canvas;
}

/** The box under the pointer, and the one that the arrow keys moved to. */
function useFocus(
  outer: RefObject<HTMLElement | null>,
  canvas: RefObject<HTMLCanvasElement | null>,
  placed: Placed,
  { boxes, onLook, onZoom, onOut }: FlameGraphProps,
) {
  const [hover, setHover] = useState<number | null>(null);
  const [focus, setFocus] = useState<number | null>(null);
  const showDetails = useLatestCallback(onLook);
  useEffect(() => {
    setHover(null);
    setFocus(null);
    showDetails(null);
  }, [boxes]);
  const at = (event: MouseEvent): number | null => {
    const box = canvas.current?.getBoundingClientRect();
    return box
      ? boxAt(placed, (event.clientX - box.left) / box.width, Math.floor((event.clientY - box.top) / BOX_PX))
      : null;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = neighbour(placed, boxes, focus, event.key);
    if (to !== null) {
      setFocus(to);
      onLook(to);
      const top = (placed.level[to] ?? 0) * BOX_PX;
      outer.current?.scrollTo({ top: Math.max(0, top - outer.current.clientHeight / 2) });
    } else if (event.key === "Enter" && focus !== null) onZoom(focus);
    else if (event.key === "Backspace" || event.key === "Escape") onOut();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const pointer = {
    onPointerMove: (event: PointerEvent): void => {
      const box = at(event);
      setHover(box);
      onLook(box ?? focus);
    },
    onPointerLeave: (): void => {
      setHover(null);
      onLook(focus);
    },
    onClick: (event: MouseEvent): void => {
      const box = at(event);
      if (box !== null) onZoom(box);
    },
  };
  return { hover, focus, onKeyDown, pointer };
}
