// The critical path over the timeline: asked for once the camera rests, for what is shown.
import { useMemo } from "preact/hooks";
import type { Critical } from "../api";
import { count, percent } from "../base/format";
import { parseRange } from "../base/range";
import { useLatest, useView } from "../load";
import type { Selected } from "../place";
import { go, state } from "../state";
import type { Spot } from "../widgets/scene";
import type { Lane } from "./timelinedata";

const MOST = 2000;

/** The selected rank's pieces in the part of the recording that the URL names; none if the path is
 * not shown. */
export function useCritical(selected: Selected, lane: Lane | undefined): Critical | null {
  const { critical, range } = state.value;
  const window = parseRange(range);
  const shift = lane?.shift ?? 0;
  const asked = critical === null ? { limit: 0 } : { start_ns: (window?.start ?? shift) - shift, stop_ns: window ? window.end - shift : null, limit: MOST };
  const { run, rank, span } = selected.place;
  const loaded = useLatest(useView("critical", selected, asked, null).loaded, `${run}/${rank}/${span}/${critical}`);
  return critical !== null && loaded.status === "ready" ? loaded.value : null;
}

/** On the tracks of the first lane, whose numbers are those of its trace. */
export function useSpots(critical: Critical | null, lane: Lane | undefined): readonly Spot[] {
  const shift = lane?.shift ?? 0;
  return useMemo(() => (critical?.pieces ?? []).filter((p) => p.track >= 0)
    .map((p) => ({ track: p.track, row: p.row, start: p.start_ns + shift, end: p.end_ns + shift })), [critical, shift]);
}

export function CriticalToggle({ found }: { found: Critical | null }) {
  const on = state.value.critical !== null;
  const shown = found?.pieces.length ?? 0;
  return (
    <>
      <button type="button" aria-pressed={on} data-testid="critical-path" data-value={on ? shown : ""} title="The chain of host and device events that decides when each step ends (c)"
        onClick={() => go({ critical: on ? null : "1" }, "replace")}>Critical path</button>
      {on && found && found.found > shown && <span class="muted" data-testid="critical-more">its {count(shown)} longest pieces of {count(found.found)} ({percent(shown / found.found)})</span>}
    </>
  );
}
