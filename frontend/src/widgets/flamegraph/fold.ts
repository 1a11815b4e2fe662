// Folds the rows that a flame graph begins with: frames with all of the time, each with one child.
import type { FlameBox } from "./layout";

/** A child with this much of its parent's time has all of it, as percentages of three digits say. */
const ALL = 0.9995;
/** Fewer rows are no gain: what stands for them is a row, too. */
const LEAST = 3;

/** How many rows lead to the first box with less than all of the time below it, or with several boxes. */
export function leadingRows(boxes: readonly FlameBox[]): number {
  const [root] = boxes;
  const children = new Map<number | null, number>();
  for (const { parent } of boxes) children.set(parent, (children.get(parent) ?? 0) + 1);
  let rows = 0;
  // A box comes after its parent: the only one of its row is the next.
  while (root && children.get(rows === 0 ? null : rows - 1) === 1) {
    const box = boxes[rows];
    if (!box || box.value < ALL * root.value) break;
    rows += 1;
  }
  // The innermost of them stays: what it calls, or that it calls nothing, begins there.
  return rows - 1 >= LEAST ? rows - 1 : 0;
}

/** The boxes with the first `rows` as one, the first. */
export function folded(boxes: readonly FlameBox[], rows: number, name: string): readonly FlameBox[] {
  const [root] = boxes;
  if (rows === 0 || !root) return boxes;
  const searched = boxes
    .slice(0, rows)
    .map((box) => box.searched)
    .join(" ");
  const rest = boxes.slice(rows).map((box) => ({
    ...box,
    parent: box.parent === null ? null : Math.max(0, box.parent - rows + 1),
  }));
  return [{ ...root, name, searched }, ...rest];
}
