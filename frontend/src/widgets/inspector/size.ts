// How large a docked panel may be, and the size that the reader chose.
import { store, stored } from "../../preference";

export type Side = "right" | "bottom";

/** In narrower windows a panel beside the page leaves neither of them room. */
export const NARROW = "(width<=900px)";

const LEAST_PX: Readonly<Record<Side, number>> = { right: 300, bottom: 96 };
/** The least of the page. */
const REST_PX: Readonly<Record<Side, number>> = { right: 480, bottom: 200 };

export const leastSize = (side: Side): number => LEAST_PX[side];

export const windowSize = (side: Side): number => (side === "right" ? window.innerWidth : window.innerHeight);

/** The size that a panel may have in a window. */
export function fittingSize(px: number, side: Side, window_px: number): number {
  return Math.round(Math.max(LEAST_PX[side], Math.min(px, window_px - REST_PX[side])));
}

/** The chosen size, stored under a key; null for the usual one. */
export function storedSize(key: string): number | null {
  const px = Number(stored(key));
  return Number.isFinite(px) && px > 0 ? px : null;
}

export function storeSize(key: string, px: number | null): void {
  store(key, px === null ? null : String(px));
}
