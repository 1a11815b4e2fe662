// The whole recording in a strip above the canvas, with its phases and the filter of tracks.
import { useMemo } from "preact/hooks";
import type { Timeline as Result } from "../../api/types";
import { duration } from "../../lib/format";
import { t } from "../../i18n";
import type { Camera } from "../../widgets/timeline/camera";
import { Minimap, type Phase } from "../../widgets/timeline/minimap";
import { TrackFilter } from "./track-headings";
import type { Tracks } from "./use-tracks";
import { densityOf } from "./window-data";

/** Parts of the recording in the strip: one for some 2 px. */
export const PARTS = 600;

/** Start-up, compilation and the rest; nothing of a recording that is steady throughout. */
const phasesOf = ({ phases }: Result): Phase[] =>
  phases.every((one) => one.kind === "steady")
    ? []
    : phases.map(({ kind, start_ns: start, end_ns: stop }) => ({
        kind,
        start,
        stop,
        title: `${t.recordingLine.kinds[kind]} ${duration(stop - start)}`,
      }));

interface RecordingStripProps {
  /** The width of the names of tracks. */
  left: number;
  tracks: Tracks;
  result: Result;
  camera: Camera;
  move: (camera: Camera) => void;
  marks: readonly number[];
}

/** The whole recording in a strip. */
export function RecordingStrip({ tracks, result, camera, move, marks, left }: RecordingStripProps) {
  const { all, lines, arrangement } = tracks;
  const density = useMemo(() => densityOf(result, PARTS), [result]);
  const phases = useMemo(() => phasesOf(result), [result]);
  return (
    <Minimap
      camera={camera}
      all={all}
      of={{ start: 0, stop: result.end_ns }}
      density={density}
      marks={marks}
      phases={phases}
      onCamera={move}
      left={left}
    >
      <TrackFilter
        only={arrangement.only}
        none={arrangement.only !== "" && !lines.some((line) => line.kind === "group" && line.key !== "")}
        set={(only) => tracks.arrange({ only })}
      />
      {arrangement.hidden.size > 0 && (
        <button
          type="button"
          class="quiet unhide"
          title={t.trackHeadings.hiddenTracks(arrangement.hidden.size)}
          aria-label={t.trackHeadings.hiddenTracks(arrangement.hidden.size)}
          data-testid="show-hidden"
          onClick={() => tracks.arrange({ hidden: new Set() })}
        >
          +{arrangement.hidden.size}
        </button>
      )}
    </Minimap>
  );
}
