// Own time in the selected interval by name, and below each name the callers that it comes from.
import { useMemo, useState } from "preact/hooks";
import type { Flame, FlameNode } from "../../api/types";
import { fullName } from "../../lib/full-name";
import { useLatestCallback } from "../../lib/use-latest-callback";
import { useLatest, useView } from "../../state/use-result";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { field, worded, type Column } from "../../widgets/table/columns";
import { TreeToggle } from "../../widgets/table/tree-toggle";
import { Show } from "../shared/load-states";
import { isHost, levelsOf, WhoseTime, windowOf } from "./area-flame";
import type { AreaTabProps } from "./area-props";
import { AreaTable } from "./area-table";

const texts = t.timelineArea;
const { columns: heads } = texts;
/** Deeper rows are not moved further to the right. */
const DEEPEST = 24;
const indent = (depth: number): string => `${12 * Math.min(depth, DEEPEST)}px`;
const KINDS: Readonly<Record<string, string>> = t.flame.kinds;

export function AreaCallers(props: AreaTabProps) {
  const { lane, options } = props;
  const by = isHost(lane) ? "host" : "device";
  const levels = levelsOf();
  const asked = { ...windowOf(options), by, levels, direction: "bottom_up" } as const;
  const latest = useLatest(
    useView("flame", lane.selected, asked, null),
    JSON.stringify([lane.rank, options, by, levels]),
  );
  return (
    <>
      <WhoseTime {...props} />
      <Show resource={latest}>{(flame) => <Callers flame={flame} />}</Show>
    </>
  );
}

function Callers({ flame }: { flame: Flame }) {
  const { rows } = flame;
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const paths = useMemo(() => pathsOf(rows), [rows]);
  const pathOf = (row: FlameNode): string => paths.get(row) ?? "";
  const turn = useLatestCallback((row: FlameNode, is: boolean): void => {
    const others = [...open].filter((one) => one !== pathOf(row));
    setOpen(new Set(is ? [...others, pathOf(row)] : others));
  });
  const depths = useMemo(() => depthsOf(rows), [rows]);
  const columns = useMemo(() => columnsFor(depths, turn), [depths]);
  const tree = {
    parents: rows.map((row) => row.parent),
    path: pathOf,
    isOpen: (row: FlameNode) => open.has(pathOf(row)),
    setOpen: turn,
  };
  return (
    <AreaTable
      name="area-callers"
      noun={texts.nouns.callers[0] ?? ""}
      nouns={texts.nouns.callers[1] ?? ""}
      columns={columns}
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

/** How deep each row lies. */
function depthsOf(rows: readonly FlameNode[]): ReadonlyMap<FlameNode, number> {
  const depths = new Map<FlameNode, number>();
  for (const row of rows) {
    const around = row.parent === null ? undefined : rows[row.parent];
    depths.set(row, around ? (depths.get(around) ?? 0) + 1 : 0);
  }
  return depths;
}

const columnsFor = (
  depths: ReadonlyMap<FlameNode, number>,
  turn: (row: FlameNode, open: boolean) => void,
): readonly Column<FlameNode>[] => [
  field<FlameNode>("name", heads.name, "text", 340, {
    code: fullName,
    full: fullName,
    cell: (row) => (
      <span class="value treename" style={{ paddingLeft: indent(depths.get(row) ?? 0) }}>
        <TreeToggle labels={texts} name={row.name} onTurn={(is) => turn(row, is)} />
        {row.name}
      </span>
    ),
  }),
  worded("kind", heads.kind, 100, (row) => KINDS[row.kind] ?? row.kind),
  field("total_ns", heads.own, "time", 84, { bound: (row) => row.bound_ns }),
  field("window_share", heads.ofSelection, "share", 110, { bar: () => "kernel" }),
  field("calls", heads.calls, "count", 72),
];
