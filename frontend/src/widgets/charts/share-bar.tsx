// A share as a bar: solid where measured, hatched where inferred, hollow where only limits are
// known, with its bound as a whisker.
import "./share-bar.css";

interface ShareBarProps {
  /** 0 to 1 of the bar's length. */
  share: number;
  /** How far off the share may be, in the same scale; null or 0 draws no whisker. */
  bound?: number | null;
  /** A CSS color. */
  fill: string;
  inferred: boolean;
  /** What part of the bar, 0 to 1, only has limits. */
  bounded?: number;
}

export function ShareBar({ share, bound = null, fill, inferred, bounded = 0 }: ShareBarProps) {
  const low = Math.max(0, share - (bound ?? 0));
  const high = Math.min(1, share + (bound ?? 0));
  return (
    <span class={inferred ? "sharebar inferred" : "sharebar"}>
      {share > 0 && bounded < 1 && (
        <span style={{ width: percentage(Math.min(1, share) * (1 - bounded)), "--fill": fill }} />
      )}
      {share > 0 && bounded > 0 && (
        <span class="bounded" style={{ width: percentage(Math.min(1, share) * bounded), "--fill": fill }} />
      )}
      {share > 0 && bound !== null && bound > 0 && (
        <i class="whisker" style={{ left: percentage(low), width: percentage(high - low) }} />
      )}
    </span>
  );
}

function percentage(share: number): string {
  return `${share * 100}%`;
}
