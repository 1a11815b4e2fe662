// The labels on the left of the timeline: fold, unfold and pin its tracks.
import type { Counter, Curves, Track } from "../api";
import { count, counted, duration } from "../base/format";
import { COUNTERS, type Line } from "../base/tracks";
import { greatest } from "../widgets/painter";

interface HeadsProps {
  lines: readonly Line[];
  tracks: readonly Track[];
  counters: readonly Counter[];
  curves: Curves;
  /** Folds or unfolds all counters. */
  onCounters: () => void;
  onToggle: (id: number) => void;
  onPin: (id: number) => void;
}

export function Heads({ lines, tracks, counters, curves, onCounters, onToggle, onPin }: HeadsProps) {
  return (
    <>
      {lines.map((line) => {
        const style = { top: `${line.y}px`, height: `${line.height}px` };
        if (line.kind === "group") {
          return (
            <div key={`g${line.y}`} class="head group" style={style}>
              {line.label === COUNTERS && <button type="button" class="quiet" aria-expanded={!line.folded} aria-label={`${line.folded ? "Unfold" : "Fold"} all counters`} onClick={onCounters} data-testid="counters">{line.folded ? "▸" : "▾"}</button>}
              {line.label}
            </div>
          );
        }
        if (line.kind === "counter") {
          const counter = counters[line.id];
          return counter && (
            <div key={`c${line.id}`} class="head counter" style={style} title={`${line.label}\n${HELP[counter.what]}`} data-testid="counter" data-what={counter.what}>
              <span>{line.label.replace(/ \(inferred\)$/, "")}</span><small><span title="The top of the scale">{counted(greatest(counter, curves), counter.unit)}</span>{counter.inferred && ", inferred"}</small>
            </div>
          );
        }
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

const HELP: Readonly<Record<Counter["what"], string>> = {
  utilisation: "The share of time in which anything runs on the device.",
  waiting: "Launched and not started yet: the greatest number in each part.",
  rate: "Kernels, copies and fills that start per ms.",
  data_loader: "The share of time in which any thread is in the data loader.",
  copies: "Bytes by the time in which such copies run.",
  communication: "Bytes of collectives by the time in which they run, waiting for other ranks included.",
  memory: "The greatest allocated total in each part.",
};
