// What lies in the selected stretch of time.
import { useMemo, useState } from "preact/hooks";
import type { Area, AreaRow } from "../api";
import type { Camera } from "../base/camera";
import { boundOf, count, duration, exactDuration, percent } from "../base/format";
import { useView } from "../load";
import { go, state } from "../state";
import { t } from "../texts";
import type { Column } from "../widgets/columns";
import { Segmented } from "../widgets/segmented";
import { Table } from "../widgets/table";
import { Show } from "./status";
import type { Lane } from "./timelinedata";

const texts = t.timeline.area;

/** Of one rank at a time. */
export function AreaSummary({ lanes, area, close }: { lanes: readonly Lane[]; area: Camera; close: () => void }) {
  const [rank, setRank] = useState<number | null>(null);
  const lane = lanes.find((one) => one.rank === rank) ?? lanes[0];
  if (!lane) return null;
  return (
    <section class="timepanel" data-testid="area-summary">
      {lanes.length > 1 && <Segmented label={texts.rank} value={String(lane.rank)} choices={lanes.map((one) => ({ value: String(one.rank), label: texts.ofRank(one.rank) }))} onPick={(value: string) => setRank(Number(value))} />}
      <OfRank key={lane.rank} lane={lane} area={area} close={close} />
    </section>
  );
}

function OfRank({ lane, area, close }: { lane: Lane; area: Camera; close: () => void }) {
  const [place, setPlace] = useState("");
  const [kind, row] = place.split(":");
  const only = kind === "lane" ? { lane: Number(row) } : kind === "thread" ? { thread: Number(row) } : {};
  const resource = useView("area", lane.selected, { start_ns: Math.round(area.start - lane.shift), stop_ns: Math.round(area.stop - lane.shift), ...only }, null);
  return (
    <>
      <p><label>{texts.where} <select value={place} data-testid="area-place" onChange={(e) => setPlace(e.currentTarget.value)}>
        <option value="">{texts.everywhere}</option>
        {placesOf(lane).map(({ value, label }) => <option key={value} value={value}>{label}</option>)}
      </select></label></p>
      <button type="button" class="quiet push" aria-label={texts.close} onClick={close}>✕</button>
      <Show resource={resource}>{(value) => <Summary area={value} />}</Show>
    </>
  );
}

/** Streams and threads; a thread's frames go with its operators. */
function placesOf({ base }: Lane): { value: string; label: string }[] {
  const found = new Map<string, string>();
  for (const { kind, owner, group, label } of base.tracks) {
    const value = `${kind === "device" ? "lane" : "thread"}:${owner}`;
    if (kind !== "steps" && !found.has(value)) found.set(value, `${group} · ${label}`);
  }
  return [...found].map(([value, label]) => ({ value, label }));
}

function Summary({ area }: { area: Area }) {
  const length = area.stop_ns - area.start_ns;
  const columns = useMemo(() => columnsFor(length), [length]);
  return (
    <>
      <p>{texts.selected(<b title={exactDuration(length)}>{duration(length)}</b>, count(area.ranges),
        area.busy_ns !== null && texts.busy(duration(area.busy_ns), <span class="muted">{boundOf(area.busy_bound_ns, true)}</span>, percent(length > 0 ? area.busy_ns / length : null)),
        area.names > area.rows.length && <span class="muted">{texts.most(count(area.rows.length), count(area.names))}</span>)}</p>
      <div class="fill"><Table name="area" noun={texts.noun} nouns={texts.nouns} columns={columns} rows={area.rows} rowKey={(r) => `${r.table} ${r.name}`} sort={state.value.sort} defaultSort="-inside_ns"
        filter={state.value.filter} onSort={(sort) => go({ sort }, "replace")} onFilter={(filter) => go({ filter }, "replace")} onOpen={(r) => go({ find: r.name }, "replace")} /></div>
    </>
  );
}

const columnsFor = (length: number): readonly Column<AreaRow>[] => [
  { key: "name", ...texts.columns.name, kind: "text", width: 320, value: (r) => r.name },
  { key: "table", ...texts.columns.table, kind: "text", width: 76, value: (r) => texts.tables[r.table], code: (r) => r.table },
  { key: "inside_ns", ...texts.columns.inside, kind: "time", width: 84, value: (r) => r.inside_ns, bound: (r) => r.bound_ns },
  { key: "share", ...texts.columns.share, kind: "share", width: 120, value: (r) => (length > 0 ? r.inside_ns / length : 0), bar: (r) => (r.table === "kernels" ? "kernel" : "cpu"),
    bound: (r) => (r.bound_ns === null ? null : length > 0 ? r.bound_ns / length : 0) },
  { key: "ranges", ...texts.columns.ranges, kind: "count", width: 76, value: (r) => r.ranges },
  { key: "mean_ns", ...texts.columns.mean, kind: "time", width: 84, value: (r) => r.mean_ns, bound: (r) => r.mean_bound_ns },
  { key: "max_ns", ...texts.columns.longest, kind: "time", width: 84, value: (r) => r.max_ns, bound: (r) => r.max_bound_ns },
];
