// The places of the boxes of a flame graph: shares of the width, levels from the top.

export interface FlameBox {
  name: string;
  /** What the search looks in, in lower case. */
  searched: string;
  /** The CSS variable of its colour. */
  colour: string;
  /** How much of the colour: what ran on the device stands out. */
  strong: boolean;
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
  /** The boxes of each level, from left to right. */
  rows: number[][];
}

export const BOX_PX = 19;

/** Boxes come after their parent; siblings stand side by side in their order. */
export function layout(boxes: readonly FlameBox[], total: number): Placed {
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
  return { left, width, level, depth, rows };
}

/** The box at a share of the width on a level, or null. */
export function boxAt({ left, width, rows }: Placed, x: number, level: number): number | null {
  return rows[level]?.find((i) => x >= (left[i] ?? 0) && x < (left[i] ?? 0) + (width[i] ?? 0)) ?? null;
}

/** The box an arrow key leads to: up to the one around, down to the widest inside, sideways on the level. */
export function neighbour(
  { rows, level }: Placed,
  boxes: readonly FlameBox[],
  now: number | null,
  key: string,
): number | null {
  const row = now === null ? [] : (rows[level[now] ?? 0] ?? []);
  switch (key) {
    case "ArrowDown": {
      if (now === null) return rows[0]?.[0] ?? null;
      const inside = boxes.findIndex((b) => b.parent === now);
      return inside < 0 ? null : inside;
    }
    case "ArrowUp":
      return now === null ? null : (boxes[now]?.parent ?? null);
    case "ArrowRight":
      return now === null ? (rows[0]?.[0] ?? null) : (row[row.indexOf(now) + 1] ?? null);
    case "ArrowLeft":
      return now === null ? null : (row[row.indexOf(now) - 1] ?? null);
    case "Home":
      return rows[0]?.[0] ?? null;
    default:
      return null;
  }
}
