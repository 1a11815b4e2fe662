// The places of the boxes of a flame graph: shares of the width, levels from the top.

export interface FlameBox {
  name: string;
  /** What the search looks in, in lower case. */
  searched: string;
  /** The CSS variable of its color. */
  color: string;
  /** How much of the color: what ran on the device stands out. */
  strong: boolean;
  /** How much of the color, from 0 to 1, in place of `strong`. */
  shade?: number;
  /** Stands at the right, where there is room for it: a share or a change. */
  note?: string;
  /** Inferred: hatched. */
  hatched: boolean;
  parent: number | null;
  value: number;
}

export interface Placed {
  left: Float64Array;
  width: Float64Array;
  level: Int32Array;
  depth: number;
  /** Whether the root is at the bottom. */
  upward: boolean;
  /** The boxes of each level, from left to right. */
  rows: number[][];
}

export const BOX_PX = 19;

/** Boxes come after their parent; siblings stand side by side in their order. */
export function layout(boxes: readonly FlameBox[], total: number, upward = false): Placed {
  const left = new Float64Array(boxes.length);
  const width = new Float64Array(boxes.length);
  const level = new Int32Array(boxes.length);
  const taken = new Float64Array(boxes.length);
  const rows: number[][] = [];
  let outermost = 0;
  let depth = 0;
  boxes.forEach((box, i) => {
    width[i] = total > 0 ? box.value / total : 0;
    if (box.parent === null) {
      left[i] = outermost;
      outermost += width[i] ?? 0;
    } else {
      left[i] = (left[box.parent] ?? 0) + (taken[box.parent] ?? 0);
      taken[box.parent] = (taken[box.parent] ?? 0) + (width[i] ?? 0);
      level[i] = (level[box.parent] ?? 0) + 1;
    }
    depth = Math.max(depth, level[i] ?? 0);
    const own = level[i] ?? 0;
    const row = rows[own];
    if (row) row.push(i);
    else rows[own] = [i];
  });
  for (const row of rows) row.sort((a, b) => (left[a] ?? 0) - (left[b] ?? 0));
  if (upward) {
    rows.reverse();
    for (let i = 0; i < level.length; i++) level[i] = depth - (level[i] ?? 0);
  }
  return { left, width, level, depth, upward, rows };
}

/** The box at a share of the width on a level, or null. */
export function boxAt({ left, width, rows }: Placed, x: number, level: number): number | null {
  return rows[level]?.find((i) => x >= (left[i] ?? 0) && x < (left[i] ?? 0) + (width[i] ?? 0)) ?? null;
}

const TURNED: Readonly<Record<string, string>> = { ArrowDown: "ArrowUp", ArrowUp: "ArrowDown" };

/** The box an arrow key leads to: up to the one around, down to the widest inside, sideways on the level.
 * Upward, up and down change places. */
export function neighbour(
  { rows, level, upward }: Placed,
  boxes: readonly FlameBox[],
  now: number | null,
  pressed: string,
): number | null {
  const root = (upward ? rows.at(-1) : rows[0])?.[0] ?? null;
  // Whichever arrow comes first, it leads to the root.
  if (now === null) return /^(Arrow|Home$)/.test(pressed) ? root : null;
  const row = rows[level[now] ?? 0] ?? [];
  const key = upward ? (TURNED[pressed] ?? pressed) : pressed;
  switch (key) {
    case "ArrowDown": {
      const inside = boxes.findIndex((b) => b.parent === now);
      return inside < 0 ? null : inside;
    }
    case "ArrowUp":
      return boxes[now]?.parent ?? null;
    case "ArrowRight":
      return row[row.indexOf(now) + 1] ?? null;
    case "ArrowLeft":
      return row[row.indexOf(now) - 1] ?? null;
    case "Home":
      return root;
    default:
      return null;
  }
}
