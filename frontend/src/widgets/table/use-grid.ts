// The grid of a table: the rows that are drawn, the active row, and the keyboard.
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { printing } from "../../lib/printing";
import type { Tree } from "./columns";
import { ROW_PX } from "./rows";

/** Rows above and below the visible ones that are drawn too, so that scrolling shows no gap. */
const MARGIN_ROWS = 12;
/** Some 40 pages of paper; a document has all rows as CSV. */
const MOST_PRINTED_ROWS = 2000;

interface GridRows<Row> {
  rows: readonly Row[];
  /** The numbers of the rows in the order in which they are shown. */
  order: readonly number[];
  /** The rows that have rows inside. */
  parents: ReadonlySet<number | null | undefined>;
  /** Whether a filter opens the rows of the tree. */
  filtered: boolean;
  tree?: Tree<Row>;
  onOpen?: (row: Row) => void;
  rowKey: (row: Row) => string;
  /** The keys of the selected rows, the latest one last. */
  selected?: string | readonly string[] | null;
}

export function useGrid<Row>(shown: GridRows<Row>) {
  const { rows, order, parents, filtered, tree, onOpen } = shown;
  const [active, setActive] = useState(-1);
  const { scroller, view, onScroll } = useScroll();
  const grid = useRef<HTMLTableElement>(null);
  const [first, last] = drawn(view, order.length);

  useSelected(scroller, shown);
  const move = (to: number): void => {
    const row = Math.max(0, Math.min(order.length - 1, to));
    setActive(row);
    if (scroller.current) reveal(scroller.current, row);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== grid.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(view.height / ROW_PX) - 3);
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: order.length - 1,
    };
    const to = steps[event.key];
    const row = rows[order[active] ?? -1];
    if (to !== undefined) move(to);
    else if (tree && row !== undefined && (event.key === "ArrowRight" || event.key === "ArrowLeft"))
      turn(tree, row, event.key === "ArrowRight");
    else if (event.key === "Enter" && row !== undefined && onOpen) onOpen(row);
    else return;
    event.preventDefault();
  };
  /** Right opens, or goes to the first child; Left closes, or goes to the row around. */
  const turn = (of: Tree<Row>, row: Row, right: boolean): void => {
    const index = order[active] ?? -1;
    const open = parents.has(index) && (filtered || of.isOpen(row));
    if (right && open) move(active + 1);
    else if (right && parents.has(index)) of.setOpen(row, true);
    else if (!right && open && !filtered) of.setOpen(row, false);
    else if (!right) move(Math.max(0, order.indexOf(of.parents[index] ?? -1)));
  };
  return { scroller, grid, active, first, last, onScroll, onKeyDown };
}

/** The rows to draw: on paper all, up to a bound. */
function drawn({ top, height }: { top: number; height: number }, rows: number): [number, number] {
  if (printing.value) return [0, Math.min(rows, MOST_PRINTED_ROWS)];
  const last = Math.min(rows, Math.ceil((top + height) / ROW_PX) + MARGIN_ROWS);
  return [Math.max(0, Math.floor(top / ROW_PX) - MARGIN_ROWS), last];
}

/** Scrolls as little as shows the row. */
function reveal(box: HTMLElement, row: number): void {
  // The head and foot lie over the rows.
  const room = box.clientHeight - 3 * ROW_PX;
  if (row * ROW_PX < box.scrollTop) box.scrollTop = row * ROW_PX;
  else if (row * ROW_PX > box.scrollTop + room) box.scrollTop = row * ROW_PX - room;
}

/** Shows the selected row when the selection changes, which may be made elsewhere: in a chart, a link. */
function useSelected<Row>(
  scroller: RefObject<HTMLDivElement | null>,
  { rows, order, rowKey, selected = null }: GridRows<Row>,
): void {
  const latest = typeof selected === "object" ? (selected?.at(-1) ?? null) : selected;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another order or filter scrolls nothing
  useLayoutEffect(() => {
    const at = latest === null ? -1 : order.findIndex((row) => rowKey(rows[row] as Row) === latest);
    if (scroller.current && at >= 0) reveal(scroller.current, at);
  }, [latest]);
}

/** The part of the rows that is on the screen, in pixels. */
function useScroll() {
  const [view, setView] = useState({ top: 0, height: 600 });
  const scroller = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return undefined;
    const measure = (): void => setView({ top: box.scrollTop, height: box.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    measure();
    return () => observer.disconnect();
  }, []);

  const onScroll = (): void => {
    const box = scroller.current;
    if (box) setView({ top: box.scrollTop, height: box.clientHeight });
  };
  return { scroller, view, onScroll };
}
