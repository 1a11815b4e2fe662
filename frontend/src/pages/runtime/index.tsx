// The page on runtime calls: what the host spends in calls of the device's runtime and driver.
import type { Runtime as Result, RuntimeRow } from "../../api/types";
import { duration } from "../../lib/format";
import { withoutFolders } from "../../lib/python-stack";
import { linkProps } from "../../state/links";
import { tableInUrl } from "../../state/table-in-url";
import { go } from "../../state/url";
import { traceOf, useLatest, useView } from "../../state/use-result";
import { t } from "../../i18n";
import { field, type Column } from "../../widgets/table/columns";
import { Table } from "../../widgets/table/table";
import type { PageProps } from "../page-props";
import { OperatorCell } from "../shared/cells";
import { Show } from "../shared/load-states";

const texts = t.runtime;
const heads = texts.columns;

export function Runtime({ selected }: PageProps) {
  const latest = useLatest(useView("runtime", selected, {}), traceOf(selected.place));
  return (
    <div class="fill" aria-busy={latest.isStale}>
      <Show resource={latest}>{(result) => <Calls result={result} />}</Show>
    </div>
  );
}

function Calls({ result }: { result: Result }) {
  const { window } = result.provenance;
  const [onHost, onDevice] = [duration(result.length_ns), duration(window?.time_ns ?? null)];
  if (result.rows.length === 0)
    return (
      <p class="muted" data-testid="no-calls">
        {texts.none}
      </p>
    );
  return (
    <Table
      name="runtime"
      hideUniform
      noun={texts.noun}
      nouns={texts.nouns}
      columns={COLUMNS}
      rows={result.rows}
      rowKey={(r) => r.name}
      {...tableInUrl()}
      defaultSort="-total_ns"
      onOpen={(r) => go({ event: eventOf(r.typical_row) })}
    >
      {result.blocked_ns > 0 && (
        <span class="muted" data-testid="blocked" data-value={result.blocked_ns} title={texts.summaryHelp}>
          {texts.summary(duration(result.blocked_ns), duration(result.total_ns))}
        </span>
      )}
      {window && window.kind !== "all" && onHost !== onDevice && (
        <span class="muted" data-testid="on-host" data-value={result.length_ns}>
          {texts.onHost(onHost, onDevice)}
        </span>
      )}
    </Table>
  );
}

const eventOf = (row: number): string => `launches/${row}`;

const COLUMNS: readonly Column<RuntimeRow>[] = [
  field("name", heads.name, "text", 196, { full: (r) => r.name }),
  field("share", heads.share, "share", 132, { bar: () => "runtime" }),
  field("total_ns", heads.total, "time", 76),
  field("calls", heads.calls, "count", 68, { additive: true }),
  field("mean_ns", heads.mean, "time", 76),
  field("median_ns", heads.median, "time", 76, {
    cell: (r) => <Record row={r.typical_row} ns={r.median_ns} title={texts.showTypical} />,
  }),
  field("max_ns", heads.max, "time", 76, {
    cell: (r) => <Record row={r.longest_row} ns={r.max_ns} title={texts.showLongest} />,
  }),
  field("blocked_ns", heads.blocked, "time", 76),
  field("device_idle_ns", heads.idle, "time", 88),
  field("activities", heads.activities, "count", 76, { additive: true }),
  field("device_ns", heads.device, "time", 88, { additive: true, bound: (r) => r.device_bound_ns }),
  field("operator", heads.operator, "text", 132, { cell: (r) => <OperatorCell name={r.operator} /> }),
  field("function", heads.function, "text", 188, { cell: (r) => <FunctionCell title={r.function} /> }),
];

function Record({ row, ns, title }: { row: number; ns: number; title: string }) {
  return (
    <a class="value" {...linkProps({ event: eventOf(row) })} title={title} data-testid="call-record">
      {duration(ns)}
    </a>
  );
}

/** The function without the folders of its file; they are in the tooltip. */
function FunctionCell({ title }: { title: string | null }) {
  return (
    <span class={title === null ? "value muted" : "value"} title={title ?? ""}>
      {title === null ? "–" : withoutFolders(title)}
    </span>
  );
}
