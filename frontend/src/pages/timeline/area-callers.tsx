// Own time in the selected stretch by name, and below each name the callers that it comes from.
import { useMemo, useState } from "preact/hooks";
import type { Flame, FlameNode } from "../../api/types";
import { fullName } from "../../lib/full-name";
import { useLatest, useView } from "../../state/use-result";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { field, type Column } from "../../widgets/table/columns";
import { Show } from "../shared/load-states";
import { isHost, WhoseTime, windowOf } from "./area-flame";
import type { AreaTabProps } from "./area-props";
import { AreaTable } from "./area-table";

const texts = t.timelineArea;
const { columns: heads } = texts;
const KINDS: Readonly<Record<string, string>> = t.flame.kinds;

export function AreaCallers(props: AreaTabProps) {
  const { lane, options } = props;
  const by = isHost(lane) ? "host" : "device";
  const asked = { ...windowOf(options), by, direction: "bottom_up" } as const;
  const resource = useView("flame", lane.selected, asked, null);
  const loaded = useLatest(resource.loaded, JSON.stringify([lane.rank, options, by]));
  return (
    <>
      <WhoseTime {...props} />
      <Show resource={{ ...resource, loaded }}>{(flame) => <Callers flame={flame} />}</Show>
    </>
  );
}

function Callers({ flame }: { flame: Flame }) {
  const { rows } = flame;
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const paths = useMemo(() => pathsOf(rows), [rows]);
  const pathOf = (row: FlameNode): string => paths.get(row) ?? "";
  const tree = {
    parents: rows.map((row) => row.parent),
    path: pathOf,
    isOpen: (row: FlameNode) => open.has(pathOf(row)),
    setOpen: (row: FlameNode, is: boolean) => {
      const others = [...open].filter((one) => one !== pathOf(row));
      setOpen(new Set(is ? [...others, pathOf(row)] : others));
    },
  };
  return (
    <AreaTable
      name="area-callers"
      noun={texts.nouns.callers[0] ?? ""}
      nouns={texts.nouns.callers[1] ?? ""}
      columns={COLUMNS}
      rows={rows}
      rowKey={pathOf}
      defaultSort="-total_ns"
      tree={tree}
      inferred={flame.by === "device" && flame.provenance.timeline === "inferred"}
      onOpen={(row) => go({ find: fullName(row) }, "replace")}
    />
  );
}

/** Where each row is: names from the outermost on. */
function pathsOf(rows: readonly FlameNode[]): ReadonlyMap<FlameNode, string> {
  const paths = new Map<FlameNode, string>();
  for (const row of rows) {
    const around = row.parent === null ? undefined : rows[row.parent];
    const above = around && paths.get(around);
    paths.set(row, above === undefined ? fullName(row) : `${above};${fullName(row)}`);
  }
  return paths;
}

const COLUMNS: readonly Column<FlameNode>[] = [
  field("name", heads.name, "text", 340, { code: fullName, full: fullName }),
  {
    key: "kind",
    ...heads.kind,
    kind: "text",
    width: 100,
    value: (row) => KINDS[row.kind] ?? row.kind,
    code: (row) => row.kind,
  },
  field("total_ns", heads.own, "time", 84, { bound: (row) => row.bound_ns }),
  field("window_share", heads.ofSelection, "share", 110, { bar: () => "kernel" }),
  field("calls", heads.calls, "count", 72),
];
