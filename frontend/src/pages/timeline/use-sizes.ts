// The width of tracks' names and the heights of their rows: the reader's, kept in the browser.
import { useState } from "preact/hooks";
import { store, stored } from "../../preference";
import { fittingHeads, HEADS_PX } from "../../widgets/timeline/canvas";
import type { RowHeights } from "../../widgets/timeline/track-layout";

const HEADS = "timeline.heads";
const ROWS = "timeline.rows";
export const LEAST_ROW_PX = 9;
export const MOST_ROW_PX = 120;

export interface Sizes {
  heads: number;
  rows: RowHeights;
  /** Null for the usual size. */
  setHeads: (px: number | null) => void;
  /** Of all tracks of a kind. */
  setRow: (kind: string, px: number | null) => void;
}

export function useSizes(): Sizes {
  const [heads, setHeads] = useState(() => fittingHeads(Number(stored(HEADS)) || HEADS_PX));
  const [rows, setRows] = useState<RowHeights>(() => parseRows(stored(ROWS)));
  return {
    heads,
    rows,
    setHeads: (px) => {
      setHeads(px ?? HEADS_PX);
      store(HEADS, px === null ? null : String(px));
    },
    setRow: (kind, px) => {
      const next = { ...rows };
      if (px === null) delete next[kind];
      else next[kind] = fittingRow(px);
      setRows(next);
      store(ROWS, rowsText(next));
    },
  };
}

const fittingRow = (px: number): number => Math.round(Math.max(LEAST_ROW_PX, Math.min(px, MOST_ROW_PX)));

/** `device:24,operators:20`; what cannot be read is left out. */
export function parseRows(text: string | null): RowHeights {
  const words = (text ?? "").split(",").map((word) => /^([a-z]{1,20}):(\d{1,4})$/.exec(word));
  return Object.fromEntries(
    words.flatMap((found) => (found ? [[found[1] ?? "", fittingRow(Number(found[2]))]] : [])),
  );
}

export function rowsText(rows: RowHeights): string | null {
  const words = Object.entries(rows).map(([kind, px]) => `${kind}:${px}`);
  return words.join(",") || null;
}
