// Totals of the selected stretch of time.
import { useMemo, useState } from "preact/hooks";
import type { Area as Result, AreaRow, Options } from "../../api/types";
import type { Area } from "../../widgets/timeline/selection-area";
import { boundOf, count, duration, exactDuration, percent, wallClock } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import { sectionOf, trackId, trackOf } from "../../widgets/timeline/track-layout";
import { useView } from "../../state/use-result";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { field, type Column } from "../../widgets/table/columns";
import { BottomPanel } from "../../widgets/controls/bottom-panel";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { Show } from "../shared/load-states";
import type { Lane } from "./lanes";

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
          choices={lanes.map((one) => ({ value: String(one.rank), label: texts.ofRank(one.rank) }))}
          onPick={(value: string) => {
            setRank(Number(value));
            if (!has(lanes.findIndex((one) => one.rank === Number(value)))) choose(null);
          }}
        />
      )}
      <p>
        <PlaceChoice {...{ lane, at, tracks, choose }} />
      </p>
      <button type="button" class="quiet push" aria-label={texts.close} onClick={close}>
        ✕
      </button>
      <OfRank key={lane.rank} lane={lane} options={options} />
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

function OfRank({ lane, options }: { lane: Lane; options: Options["area"] }) {
  const resource = useView("area", lane.selected, options, null);
  return <Show resource={resource}>{(value) => <Summary area={value} />}</Show>;
}

function Summary({ area }: { area: Result }) {
  const length = area.stop_ns - area.start_ns;
  const columns = useMemo(() => columnsFor(length), [length]);
  return (
    <>
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
      <div class="fill">
        <Table
          name="area"
          noun={texts.noun}
          nouns={texts.nouns}
          columns={columns}
          rows={area.rows}
          rowKey={(r) => `${r.table} ${fullName(r)}`}
          sort={state.value.sort}
          defaultSort="-inside_ns"
          filter={state.value.filter}
          onSort={(sort) => go({ sort }, "replace")}
          onFilter={(filter) => go({ filter }, "replace")}
          onOpen={(r) => go({ find: fullName(r) }, "replace")}
        />
      </div>
    </>
  );
}

const columnsFor = (length: number): readonly Column<AreaRow>[] => [
  field("name", texts.columns.name, "text", 320, { code: fullName, full: fullName }),
  {
    key: "table",
    ...texts.columns.table,
    kind: "text",
    width: 76,
    value: (r) => texts.tables[r.table],
    code: (r) => r.table,
  },
  field("inside_ns", texts.columns.inside, "time", 84, { bound: (r) => r.bound_ns }),
  {
    key: "share",
    ...texts.columns.share,
    kind: "share",
    width: 120,
    value: (r) => (length > 0 ? r.inside_ns / length : 0),
    bar: (r) => (r.table === "kernels" ? "kernel" : "cpu"),
    bound: (r) => (r.bound_ns === null ? null : length > 0 ? r.bound_ns / length : 0),
  },
  field("ranges", texts.columns.ranges, "count", 76),
  field("mean_ns", texts.columns.mean, "time", 84, { bound: (r) => r.mean_bound_ns }),
  field("max_ns", texts.columns.longest, "time", 84, { bound: (r) => r.max_bound_ns }),
];
