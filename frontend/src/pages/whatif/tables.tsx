// The tables of the what-if page: estimated speed-ups, the critical path by name, and each step.
import type { ComponentChildren } from "preact";
import type { Gain, PathRow, PredictedStep, WhatIf as Result } from "../../api/types";
import { classColor, type ClassName } from "../../lib/class-color";
import { percent, percentLimits } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import type { Resource } from "../../state/use-result";
import { go, state } from "../../state/url";
import { nameOf } from "../../state/selection";
import { tableInUrl, type TableInUrl } from "../../state/table-in-url";
import { t } from "../../i18n";
import { derived, field, worded, type Column } from "../../widgets/table/columns";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { Show } from "../shared/load-states";
import { NotListed } from "../shared/not-listed";

const texts = t.whatifTables;

/** Classes of the host's own time, which is measured where the device's times are inferred. */
const OF_HOST: ReadonlySet<ClassName> = new Set<ClassName>([
  "synchronization",
  "blocking_copy",
  "device_memory",
  "file_or_lock",
  "other_rank",
  "input",
  "python",
  "dispatch",
  "launch_call",
  "garbage_collection",
]);

/** Whether a class's times on the path are inferred where the timeline is. */
export const ofDevice = (name: ClassName): boolean => !OF_HOST.has(name);

/** What a line is about: without a number, which the server says is missing, all of it. */
const about = (line: string): string => line.slice(0, line.lastIndexOf("=") + 1) || line;

/** A change more; one of the same thing is replaced. */
export function withChange(changes: string | null, change: string): string {
  const others = (changes ?? "").split("\n").filter((line) => line && about(line) !== about(change));
  return [...others, change].join("\n");
}

const changeOf = (row: Gain, factor: number): string =>
  `${row.name ? `${row.kind}:${fullName(row)}` : row.kind}=${factor}`;

export function WhatIfTable({ result, ranked }: { result: Result; ranked: Resource<Result> }) {
  const { group } = state.value;
  const inferred = result.provenance.timeline === "inferred";
  const shared = {
    ...tableInUrl(),
    inferred,
  };
  const choice = (
    <Segmented
      label={texts.table}
      value={group ?? "gains"}
      onPick={(g) => go({ group: g === "gains" ? null : g, sort: null, filter: null })}
      choices={[
        { value: "gains", label: texts.gains },
        { value: "path", label: texts.path, title: texts.pathHelp },
        { value: "steps", label: texts.steps },
      ]}
    />
  );
  if (group === "path")
    return (
      <Table
        {...shared}
        name="path"
        {...texts.name}
        columns={pathColumns(inferred)}
        rows={result.path}
        rowKey={(r) => `${r.time_class} ${fullName(r)}`}
        defaultSort="-path_ns"
      >
        {choice}
      </Table>
    );
  if (group === "steps")
    return (
      <Table
        {...shared}
        name="predicted-steps"
        {...texts.step}
        columns={STEPS}
        rows={result.steps}
        rowKey={(r) => r.name}
        defaultSort=""
      >
        {choice}
        <NotListed listed={result.steps.length} total={result.predicted_total} text={t.stepLink.listed} />
      </Table>
    );
  return gainsTable(shared, ranked, choice);
}

type Shared = TableInUrl & { inferred: boolean };

/** Estimated speed-ups, which the server takes a while to rank. No component: the choice in the table
 * would lose the focus to another table's. */
function gainsTable(shared: Shared, ranked: Resource<Result>, choice: ComponentChildren) {
  const { loaded } = ranked;
  if (loaded.status === "loading")
    return (
      <div class="toolbar" aria-busy="true">
        {choice}
        <span class="muted" data-testid="ranking">
          {texts.ranking}
        </span>
      </div>
    );
  if (loaded.status !== "ready")
    return (
      <>
        <div class="toolbar">{choice}</div>
        <Show resource={ranked}>{() => null}</Show>
      </>
    );
  return (
    <Table
      {...shared}
      name="gains"
      {...texts.row}
      columns={GAINS}
      rows={loaded.value.rows}
      rowKey={(r) => `${r.kind} ${fullName(r)}`}
      defaultSort="-free_gain_share"
    >
      {choice}
    </Table>
  );
}

function Try({ row }: { row: Gain }) {
  const set = (factor: number): void =>
    go({ changes: withChange(state.value.changes, changeOf(row, factor)) });
  return (
    <>
      {row.kind !== "synchronization" && (
        <button type="button" class="link" data-testid="try-half" title={texts.half} onClick={() => set(0.5)}>
          2×
        </button>
      )}
      <button type="button" class="link" data-testid="try-free" title={texts.freeHelp} onClick={() => set(0)}>
        {texts.free}
      </button>
    </>
  );
}

/** The share of a step that the least or the greatest gain is. */
const shareOf = (row: Gain, ns: number | null): number | null =>
  ns === null || row.free_gain_ns === 0 ? null : (ns / row.free_gain_ns) * row.free_gain_share;

const GAINS: readonly Column<Gain>[] = [
  derived("name", texts.ofGains.name, "text", 300, (r) => r.name || texts.kinds[r.kind], {
    code: (r) => fullName(r),
  }),
  worded("kind", texts.ofGains.kind, 190, (r) => texts.kinds[r.kind], {
    cell: (r) => (
      <span class="value whatif-try">
        {texts.kinds[r.kind]} <Try row={r} />
      </span>
    ),
  }),
  field("half_gain_share", texts.ofGains.halfGainShare, "share", 136, {
    bar: () => "kernel",
    scale: "gain",
  }),
  field("free_gain_share", texts.ofGains.freeGainShare, "share", 248, {
    bar: () => "kernel",
    scale: "gain",
    cell: (r) => (
      <span class="value">
        {percent(r.free_gain_share)}{" "}
        <small class="muted" data-testid="gain-range">
          {percentLimits(shareOf(r, r.free_gain_low_ns), shareOf(r, r.free_gain_high_ns))}
        </small>
      </span>
    ),
  }),
  field("half_gain_ns", texts.ofGains.halfGain, "time", 148),
  field("free_gain_ns", texts.ofGains.freeGain, "time", 116),
  field("free_gain_low_ns", texts.ofGains.freeGainLow, "time", 104, { optional: true }),
  field("free_gain_high_ns", texts.ofGains.freeGainHigh, "time", 104, { optional: true }),
  field("on_path_ns", texts.ofGains.onPath, "time", 96),
  derived("aliases", texts.ofGains.aliases, "text", 240, (r) => r.aliases.join(", "), { optional: true }),
];

/** Host times are measured, device times may be inferred: the mark in front says which. */
const pathColumns = (inferred: boolean): readonly Column<PathRow>[] => [
  derived("name", texts.ofPath.name, "text", 320, (r) => r.name || "–", { code: fullName, full: fullName }),
  worded("time_class", texts.ofPath.timeClass, 190, (r) => r.label, {
    cell: (r) => (
      <span class="value">
        <i
          class={`swatch ${inferred && ofDevice(r.time_class) ? "inferred" : ""}`}
          style={{ "--fill": classColor(r.time_class) }}
        />
        {r.label}
      </span>
    ),
  }),
  field("share", texts.ofPath.share, "share", 84, { additive: true }),
  field("path_ns", texts.ofPath.path, "time", 84, { additive: true }),
  field("pieces", texts.ofPath.pieces, "count", 84, {
    cell: (r) => <span class="value">{Number(r.pieces.toPrecision(3))}</span>,
  }),
];

const STEPS: readonly Column<PredictedStep>[] = [
  worded("name", texts.ofSteps.step, 200, (r) => nameOf(r.name)),
  field("measured_ns", texts.ofSteps.measured, "time", 104),
  field("predicted_ns", texts.ofSteps.predicted, "time", 104),
  field("gain_ns", texts.ofSteps.gain, "time", 104),
  field("gain_low_ns", texts.ofSteps.gainLow, "time", 104),
  field("gain_high_ns", texts.ofSteps.gainHigh, "time", 104),
  field("replayed_ns", texts.ofSteps.replayed, "time", 104),
];
