// The flame graph of the selected stretch of time: only the time inside counts.
import { useMemo, useState } from "preact/hooks";
import type { Flame, FlameNode } from "../../api/types";
import { duration, percent } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import { joinNames, splitNames } from "../../lib/name-path";
import { useLatest, useView } from "../../state/use-result";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { Segmented } from "../../widgets/controls/segmented";
import { FlameGraph } from "../../widgets/flamegraph/flamegraph";
import { boxOf, namesOf } from "../shared/flame-boxes";
import { Show } from "../shared/load-states";
import type { AreaTabProps } from "./area-tabs";

const texts = t.timelineArea;

/** Of all tracks: whose time is shown is one choice, the tracks would be another. */
export function AreaFlame({ lane, options: { start_ns, stop_ns, tracks } }: AreaTabProps) {
  const { zoom, by } = state.value;
  const window = {
    ...(start_ns !== undefined && { start_ns }),
    ...(stop_ns !== undefined && { stop_ns }),
  };
  const host = by === "host" || lane.base.provenance.timeline === "none";
  const resource = useView(
    "flame",
    lane.selected,
    { ...window, by: host ? "host" : "device", ...(zoom !== null && { root: zoom }) },
    null,
  );
  const loaded = useLatest(resource.loaded, JSON.stringify([lane.rank, window, host]));
  return (
    <>
      <div class="toolbar">
        <Segmented
          label={texts.time}
          value={host ? "host" : "device"}
          onPick={(v) => go({ by: v === "host" ? v : null, zoom: null }, "replace")}
          choices={[
            {
              value: "device",
              label: texts.onDevice,
              disabled: lane.base.provenance.timeline === "none",
            },
            { value: "host", label: texts.onHost },
          ]}
        />
        {zoom !== null && (
          <button type="button" data-testid="area-zoom-out" onClick={() => go({ zoom: null }, "replace")}>
            {texts.zoomOut}
          </button>
        )}
        {tracks !== undefined && <span class="muted">{texts.ofAllTracks}</span>}
      </div>
      <Show resource={{ ...resource, loaded }}>{(flame) => <Graph flame={flame} />}</Show>
    </>
  );
}

function Graph({ flame }: { flame: Flame }) {
  const { rows } = flame;
  const [at, setAt] = useState<number | null>(null);
  const inferred = flame.by === "device" && flame.provenance.timeline === "inferred";
  const boxes = useMemo(() => rows.map((row) => boxOf(row, inferred)), [rows, inferred]);
  const names = splitNames(state.value.zoom);
  const zoomTo = (row: number): void => {
    const path = [...names.slice(0, -1), ...namesOf(rows, row)];
    // The first row is the one that is zoomed to: a click on it goes back.
    go({ zoom: joinNames(names.length > 0 && row === 0 ? names.slice(0, -1) : path) || null }, "replace");
  };
  if (rows.length === 0) return <p class="state">{texts.noTime}</p>;
  return (
    <>
      <Under flame={flame} row={at === null ? undefined : rows[at]} />
      <FlameGraph
        boxes={boxes}
        total={flame.total_ns ?? 0}
        search=""
        label={texts.graph(boxes.length)}
        onLook={setAt}
        onZoom={zoomTo}
        onOut={() => go({ zoom: joinNames(names.slice(0, -1)) || null }, "replace")}
        onCanvas={() => undefined}
      />
    </>
  );
}

/** What is under the pointer or the keyboard; said aloud as well. */
function Under({ flame, row }: { flame: Flame; row: FlameNode | undefined }) {
  return (
    <p class="muted" role="status" data-testid="area-flame-under" data-value={flame.total_ns ?? ""}>
      {row
        ? texts.box(
            fullName(row),
            duration(row.total_ns),
            percent(flame.total_ns ? row.total_ns / flame.total_ns : 0),
            duration(row.self_ns),
          )
        : texts.whole(duration(flame.total_ns))}
    </p>
  );
}
