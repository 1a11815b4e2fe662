// All ranges of the selected interval, by name.
import { useMemo } from "preact/hooks";
import type { Area, AreaRow } from "../../api/types";
import { fullName } from "../../lib/full-name";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { derived, field, worded, type Column } from "../../widgets/table/columns";
import { AreaTable } from "./area-table";

const texts = t.timeline.area;

export function AreaNames({ area }: { area: Area }) {
  const length = area.stop_ns - area.start_ns;
  const columns = useMemo(() => columnsFor(length), [length]);
  return (
    <AreaTable
      name="area"
      noun={texts.noun}
      nouns={texts.nouns}
      columns={columns}
      rows={area.rows}
      rowKey={(r) => `${r.table} ${fullName(r)}`}
      defaultSort="-inside_ns"
      onOpen={(r) => go({ find: fullName(r) }, "replace")}
    />
  );
}

const columnsFor = (length: number): readonly Column<AreaRow>[] => [
  field("name", texts.columns.name, "text", 320, { code: fullName, full: fullName }),
  worded("table", texts.columns.table, 76, (r) => texts.tables[r.table]),
  field("inside_ns", texts.columns.inside, "time", 84, { bound: (r) => r.bound_ns }),
  derived("share", texts.columns.share, "share", 120, (r) => (length > 0 ? r.inside_ns / length : 0), {
    bar: (r) => (r.table === "kernels" ? "kernel" : "cpu"),
    bound: (r) => (r.bound_ns === null ? null : length > 0 ? r.bound_ns / length : 0),
  }),
  field("ranges", texts.columns.ranges, "count", 76),
  field("mean_ns", texts.columns.mean, "time", 84, { bound: (r) => r.mean_bound_ns }),
  field("max_ns", texts.columns.longest, "time", 84, { bound: (r) => r.max_bound_ns }),
];
