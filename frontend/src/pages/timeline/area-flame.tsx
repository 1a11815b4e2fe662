// The flame graph of the selected interval: only the time inside counts.
import type { ComponentChildren } from "preact";
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
import type { AreaTabProps } from "./area-props";
import type { Lane } from "./lanes";

const texts = t.timelineArea;

/** Whose time is shown: the device's where it is known, else the host's. */
export const isHost = ({ base }: Lane): boolean =>
  state.value.by === "host" || base.provenance.timeline === "none";

/** The window of the selection. */
export const windowOf = ({ start_ns, stop_ns }: AreaTabProps["options"]) => ({
  ...(start_ns !== undefined && { start_ns }),
  ...(stop_ns !== undefined && { stop_ns }),
});

/** Which ranges are shown: all, or no Python frames. */
export const levelsOf = (): "all" | "operators" => (state.value.levels === "operators" ? "operators" : "all");

/** The choices of whose time it is and of what is shown, and that the tracks are all of them. */
export function WhoseTime({ lane, options, children }: AreaTabProps & { children?: ComponentChildren }) {
  const none = lane.base.provenance.timeline === "none";
  return (
    <div class="toolbar">
      <Segmented
        label={texts.time}
        value={isHost(lane) ? "host" : "device"}
        onPick={(v) => go({ by: v === "host" ? v : null, zoom: null }, "replace")}
        choices={[
          { value: "device", label: texts.onDevice, disabled: none },
          { value: "host", label: texts.onHost },
        ]}
      />
      {lane.base.tracks.some((one) => one.kind === "frames") && (
        <Segmented
          label={texts.levels}
          value={levelsOf()}
          onPick={(v) => go({ levels: v === "operators" ? v : null, zoom: null }, "replace")}
          choices={[
            { value: "all", ...texts.everything },
            { value: "operators", ...texts.operatorsOnly },
          ]}
        />
      )}
      {children}
      {options.tracks !== undefined && <span class="muted">{texts.ofAllTracks}</span>}
    </div>
  );
}

/** Of all tracks: whose time is shown is one choice, the tracks would be another. */
export function AreaFlame(props: AreaTabProps) {
  const { lane, options } = props;
  const { zoom } = state.value;
  const window = windowOf(options);
  const by = isHost(lane) ? "host" : "device";
  const levels = levelsOf();
  const asked = { ...window, by, levels, ...(zoom !== null && { root: zoom }) } as const;
  const latest = useLatest(
    useView("flame", lane.selected, asked, null),
    JSON.stringify([lane.rank, window, by, levels]),
  );
  return (
    <>
      <WhoseTime {...props}>
        {zoom !== null && (
          <button type="button" data-testid="area-zoom-out" onClick={() => go({ zoom: null }, "replace")}>
            {texts.zoomOut}
          </button>
        )}
      </WhoseTime>
      <Show resource={latest}>{(flame) => <Graph flame={flame} />}</Show>
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
        zoomed={names.length > 0}
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
