// A share as a bar: solid where measured, hatched where inferred, with its bound as a whisker.
import { color, type Category } from "../base/color";

interface ShareBarProps {
  /** 0 to 1 of the bar's length. */
  share: number;
  /** How far off the share may be, in the same scale; null or 0 draws no whisker. */
  bound?: number | null;
  category: Category;
  inferred: boolean;
}

export function ShareBar({ share, bound = null, category, inferred }: ShareBarProps) {
  const low = Math.max(0, share - (bound ?? 0));
  const high = Math.min(1, share + (bound ?? 0));
  return (
    <span class={inferred ? "sharebar inferred" : "sharebar"}>
      {share > 0 && <span style={{ width: percentage(Math.min(1, share)), "--fill": color(category) }} />}
      {share > 0 && bound !== null && bound > 0 && <i class="whisker" style={{ left: percentage(low), width: percentage(high - low) }} />}
    </span>
  );
}

function percentage(share: number): string {
  return `${share * 100}%`;
}
