// The critical path over the timeline: requested only while it is shown, and once the camera rests.
import { useEffect, useMemo } from "preact/hooks";
import type { Critical } from "../../api/types";
import type { Camera } from "../../widgets/timeline/camera";
import { count, percent } from "../../lib/format";
import { parseRange } from "../../lib/time-range";
import { traceOf, useLatest, useView } from "../../state/use-result";
import type { Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import type { Spot } from "../../widgets/timeline/scene";
import type { Lane } from "./lanes";

const MOST = 2000;

/** Where the path lies on the tracks of the first lane, whose numbers are those of its trace. */
export function useSpots(critical: Critical | null, lane: Lane | undefined): readonly Spot[] {
  const shift = lane?.shift ?? 0;
  const on = state.value.critical !== null;
  return useMemo(
    () =>
      (on && critical ? critical.pieces : [])
        .filter((p) => p.track >= 0)
        .map((p) => ({ track: p.track, row: p.row, start: p.start_ns + shift, end: p.end_ns + shift })),
    [on, critical, shift],
  );
}

interface ToggleProps {
  selected: Selected;
  /** What the timeline began with, if not with the whole recording. */
  step: Camera | null;
  lane: Lane | undefined;
  found: Critical | null;
  onFound: (found: Critical) => void;
}

export function CriticalToggle({ selected, step, lane, found, onFound }: ToggleProps) {
  const on = state.value.critical !== null;
  const shown = found?.pieces.length ?? 0;
  return (
    <>
      <button
        type="button"
        aria-pressed={on}
        data-testid="critical-path"
        data-value={on ? shown : ""}
        title={t.timeline.criticalHelp}
        onClick={() => go({ critical: on ? null : "1" }, "replace")}
      >
        {t.timeline.critical}
      </button>
      {on && <Ask selected={selected} step={step} shift={lane?.shift ?? 0} onFound={onFound} />}
      {on && found && found.found > shown && (
        <span class="muted" data-testid="critical-more">
          {t.timeline.longestPieces(count(shown), count(found.found), percent(shown / found.found))}
        </span>
      )}
    </>
  );
}

/** Asks for the selected rank's pieces in the part of the recording that the URL names, by its range or
 * its step. */
function Ask({
  selected,
  step,
  shift,
  onFound,
}: Pick<ToggleProps, "selected" | "step" | "onFound"> & { shift: number }) {
  const window = parseRange(state.value.range) ?? (step && { start: step.start, end: step.stop });
  const asked = useView(
    "critical",
    selected,
    { start_ns: (window?.start ?? shift) - shift, stop_ns: window ? window.end - shift : null, limit: MOST },
    null,
  );
  const { loaded } = useLatest(asked, traceOf(selected.place));
  const value = loaded.status === "ready" ? loaded.value : null;
  useEffect(() => {
    if (value) onFound(value);
  }, [value, onFound]);
  return value ? null : <span class="muted">…</span>;
}
