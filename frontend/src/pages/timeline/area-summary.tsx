// Totals of the selected interval.
import { useState } from "preact/hooks";
import type { Area as Result, Options } from "../../api/types";
import type { Area } from "../../widgets/timeline/selection-area";
import { boundOf, count, duration, exactDuration, percent, wallClock } from "../../lib/format";
import { sectionOf, trackId, trackOf } from "../../widgets/timeline/track-layout";
import { useView } from "../../state/use-result";
import { t } from "../../i18n";
import { BottomPanel } from "../../widgets/controls/bottom-panel";
import { Segmented } from "../../widgets/controls/segmented";
import { Show } from "../shared/load-states";
import { AreaTab, AreaTabs } from "./area-tabs";
import { BASE, type Lane } from "./lanes";
import "./area-summary.css";

const texts = t.timeline.area;
/** More than one track. */
const CHOSEN = "chosen";

interface AreaProps {
  lanes: readonly Lane[];
  area: Area;
  choose: (tracks: readonly number[] | null) => void;
  close: () => void;
}

/** Of one rank at a time. */
export function AreaSummary({ lanes, area, choose, close }: AreaProps) {
  const [rank, setRank] = useState<number | null>(null);
  const places = lanes.map((_, at) => area.tracks?.filter((id) => sectionOf(id) === at) ?? null);
  // The chosen rank, unless nothing is selected there.
  const has = (at: number): boolean => places[at] === null || (places[at]?.length ?? 0) > 0;
  const chosen = lanes.findIndex((one) => one.rank === rank);
  const at = has(chosen)
    ? chosen
    : Math.max(
        0,
        places.findIndex((_, i) => has(i)),
      );
  const lane = lanes[at];
  if (!lane) return null;
  const tracks = places[at] ?? null;
  const options = {
    start_ns: Math.round(area.start - lane.shift),
    stop_ns: Math.round(area.stop - lane.shift),
    ...(tracks && { tracks: tracks.map(trackOf).join(",") }),
  };
  return (
    <BottomPanel class="timepanel" testid="area-summary">
      {lanes.length > 1 && (
        <Segmented
          label={texts.rank}
          value={String(lane.rank)}
          choices={lanes.map((one) => ({
            value: String(one.rank),
            label: one.rank === BASE ? t.timelineComparison.short : texts.ofRank(one.rank),
          }))}
          onPick={(value: string) => {
            setRank(Number(value));
            if (!has(lanes.findIndex((one) => one.rank === Number(value)))) choose(null);
          }}
        />
      )}
      <div class="toolbar">
        <PlaceChoice {...{ lane, at, tracks, choose }} />
        <AreaTabs lane={lane} />
      </div>
      <button type="button" class="quiet push" aria-label={texts.close} onClick={close}>
        ✕
      </button>
      <OfRank key={lane.rank} {...{ lane, at, options, choose }} />
    </BottomPanel>
  );
}

interface PlaceChoiceProps {
  lane: Lane;
  /** Its place among the lanes. */
  at: number;
  tracks: readonly number[] | null;
  choose: (tracks: readonly number[] | null) => void;
}

/** All tracks, one, or those that are selected. */
function PlaceChoice({ lane, at, tracks, choose }: PlaceChoiceProps) {
  return (
    <label>
      {texts.where}{" "}
      <select
        value={tracks === null ? "" : tracks.length === 1 ? String(tracks[0]) : CHOSEN}
        data-testid="area-place"
        onChange={(e) => {
          const { value } = e.currentTarget;
          if (value !== CHOSEN) choose(value === "" ? null : [Number(value)]);
        }}
      >
        <option value="">{texts.everywhere}</option>
        {tracks && tracks.length > 1 && <option value={CHOSEN}>{texts.chosen(tracks.length)}</option>}
        {lane.base.tracks
          .filter((one) => one.kind !== "steps")
          .map((one) => (
            <option key={one.id} value={trackId(at, one.id)}>
              {one.group} · {one.label}
            </option>
          ))}
      </select>
    </label>
  );
}

interface OfRankProps {
  lane: Lane;
  /** Its place among the lanes. */
  at: number;
  options: Options["area"];
  choose: (tracks: readonly number[] | null) => void;
}

function OfRank({ lane, at, options, choose }: OfRankProps) {
  const resource = useView("area", lane.selected, options, null);
  return (
    <Show resource={resource}>
      {(value) => (
        <>
          <Totals area={value} />
          <AreaTab {...{ lane, at, options, choose }} area={value} />
        </>
      )}
    </Show>
  );
}

/** The length of the selection and how busy the device is in it. */
function Totals({ area }: { area: Result }) {
  const length = area.stop_ns - area.start_ns;
  return (
    <p title={area.unix_us === null ? undefined : texts.from(wallClock(area.unix_us))}>
      {texts.selected(
        <b title={exactDuration(length)}>{duration(length)}</b>,
        area.ranges,
        area.busy_ns !== null &&
          texts.busy(
            duration(area.busy_ns),
            <span class="muted">{boundOf(area.busy_bound_ns, true)}</span>,
            percent(length > 0 ? area.busy_ns / length : null),
          ),
        area.names > area.rows.length && (
          <span class="muted">{texts.most(count(area.rows.length), count(area.names))}</span>
        ),
      )}
    </p>
  );
}
