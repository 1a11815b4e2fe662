// Where the selected time goes: the classes of the device's work and the causes of its idle time.
import { useMemo } from "preact/hooks";
import type { Account, ClassTime } from "../../api/types";
import { classColor } from "../../lib/class-color";
import { duration } from "../../lib/format";
import { linkProps } from "../../state/links";
import { useView } from "../../state/use-result";
import { go, type State } from "../../state/url";
import { t } from "../../i18n";
import type { Column } from "../../widgets/table/columns";
import { derived, field, worded } from "../../widgets/table/columns";
import { around } from "../../widgets/timeline/camera";
import { Show } from "../shared/load-states";
import { AreaTable } from "./area-table";
import type { AreaTabProps } from "./area-props";
import type { Lane } from "./lanes";

const texts = t.timelineArea;
const { columns: heads } = texts;

/** The account is of all devices and tracks, whatever tracks are selected. */
export function AreaIdle({ lane, options }: AreaTabProps) {
  const { start_ns, stop_ns, tracks } = options;
  const resource = useView(
    "area",
    lane.selected,
    { ...(start_ns !== undefined && { start_ns }), ...(stop_ns !== undefined && { stop_ns }), account: true },
    null,
  );
  return (
    <Show resource={resource}>
      {({ account }) =>
        account === null ? (
          <p class="state">{texts.noAccount}</p>
        ) : (
          <>
            {tracks !== undefined && <p class="muted">{texts.ofAllTracks}</p>}
            <Classes account={account} lane={lane} />
          </>
        )
      }
    </Show>
  );
}

function Classes({ account, lane }: { account: Account; lane: Lane }) {
  const columns = useMemo(() => columnsFor(lane), [lane]);
  return (
    <AreaTable
      name="area-idle"
      noun={texts.nouns.idle[0] ?? ""}
      nouns={texts.nouns.idle[1] ?? ""}
      columns={columns}
      rows={account.classes}
      rowKey={(r) => r.name}
      defaultSort="-ns"
      onOpen={(r) => {
        if (r.largest[0]) go(toLongest(r, lane));
      }}
    />
  );
}

/** The longest interval of a class, on the clock of the first rank. */
function toLongest({ largest }: ClassTime, { shift, base }: Lane): Partial<State> {
  const [longest] = largest;
  if (!longest) return {};
  const start = longest.start_ns + shift;
  const all = { start: shift, stop: base.end_ns + shift };
  const shown = around(start, start + longest.duration_ns, all);
  return { range: `${Math.floor(shown.start)}..${Math.ceil(shown.stop)}` };
}

const columnsFor = (lane: Lane): readonly Column<ClassTime>[] => [
  worded("name", heads.class, 210, (r) => r.label, {
    full: (r) => r.meaning,
    cell: (r) => (
      <>
        <i
          class={`swatch ${r.bound_ns === 0 ? "measured" : "inferred"}`}
          style={{ "--fill": classColor(r.name) }}
        />
        {r.label}
      </>
    ),
  }),
  field("ns", heads.classTime, "time", 84, { bound: (r) => r.bound_ns, additive: true }),
  field("share", heads.ofSelection, "share", 110),
  field("stretches", heads.stretches, "count", 80),
  derived("longest", heads.longest, "time", 84, (r) => r.largest[0]?.duration_ns ?? null, {
    cell: (r) =>
      r.largest[0] ? <a {...linkProps(toLongest(r, lane))}>{duration(r.largest[0].duration_ns)}</a> : null,
  }),
  { key: "what", ...heads.what, kind: "text", width: 240, value: (r) => r.largest[0]?.name ?? "" },
  {
    key: "function",
    ...heads.function,
    kind: "text",
    width: 200,
    value: (r) => r.largest[0]?.where?.title ?? "",
  },
];
