// The labels on the left of the timeline: fold, unfold and pin its tracks.
import type { Track } from "../api";
import { count, duration } from "../base/format";
import type { Line } from "../base/tracks";

interface HeadsProps {
  lines: readonly Line[];
  tracks: readonly Track[];
  onToggle: (id: number) => void;
  onPin: (id: number) => void;
}

export function Heads({ lines, tracks, onToggle, onPin }: HeadsProps) {
  return (
    <>
      {lines.map((line) => {
        const style = { top: `${line.y}px`, height: `${line.height}px` };
        if (line.kind === "group") return <div key={`g${line.y}`} class="head group" style={style}>{line.label}</div>;
        if (line.kind === "counter") return <div key={`c${line.id}`} class="head" style={style} title={line.label}><span>{line.label}</span></div>;
        const track = tracks.find((one) => one.id === line.id);
        if (!track) return null;
        const note = `${count(track.ranges)} ranges in ${track.rows} rows, the outermost ${duration(track.busy_ns)} in all${track.hidden > 0 ? `; ${count(track.hidden)} lie too deep to be drawn` : ""}`;
        return (
          <div key={`t${line.id}`} class="head" style={style} data-testid="track" data-id={track.id} data-kind={track.kind} data-folded={line.folded} title={`${line.label}\n${note}`}>
            {track.rows > 1
              ? <button type="button" class="quiet" aria-expanded={!line.folded} aria-label={`${line.folded ? "Unfold" : "Fold"} ${line.label}`} onClick={() => onToggle(track.id)}>{line.folded ? "▸" : "▾"}</button>
              : <i />}
            <span>{line.label}</span>
            <button type="button" class="quiet pin" aria-pressed={line.pinned} aria-label={`Pin ${line.label} to the top`} title="Pin to the top" onClick={() => onPin(track.id)}>{line.pinned ? "★" : "☆"}</button>
          </div>
        );
      })}
    </>
  );
}
