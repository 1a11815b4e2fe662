// The tables of the ranks page: ranks, collectives, and the steps of each rank.
import type { CollectiveRow, Distributed as Result, RankRow, RankStep } from "../../api/types";
import { bytes, duration, rate, signedDuration } from "../../lib/format";
import { nameOf, stepLabel } from "../../state/selection";
import { go } from "../../state/url";
import { tableInUrl } from "../../state/table-in-url";
import { t } from "../../i18n";
import { parallelism } from "../../i18n/parallelism";
import { derived, field, worded, type Column } from "../../widgets/table/columns";
import { Segmented } from "../../widgets/controls/segmented";
import { Table } from "../../widgets/table/table";
import { linkProps, ofRank, toInterval } from "../../state/links";
import { StepLink } from "../shared/step-link";
import { NotListed } from "../shared/not-listed";
import { PARALLEL, ParallelTable } from "./parallel-tables";

const GROUPS = ["ranks", ...PARALLEL, "collectives", "steps"] as const;
export type Group = (typeof GROUPS)[number];

const texts = t.distributed;
const NAMES: Readonly<Record<Group, string>> = { ...texts.tables, ...parallelism.tables };

/** The table that the URL names, if the result has it. */
export function shownGroup(result: Result, wanted: string | null): Group {
  return groupsOf(result).find((group) => group === wanted) ?? "ranks";
}

/** The tables of every run, and of the others those with rows. */
function groupsOf(result: Result): readonly Group[] {
  const has: Partial<Record<Group, readonly unknown[]>> = {
    nodes: result.nodes,
    stages: result.stages,
    experts: result.experts,
    groups: result.groups,
  };
  return GROUPS.filter((group) => has[group]?.length !== 0);
}

export function Tables({ result, shown, inferred }: { result: Result; shown: Group; inferred: boolean }) {
  const shared = { ...tableInUrl(), inferred };
  const choice = <Choice result={result} shown={shown} />;
  switch (shown) {
    case "ranks":
      return (
        <Table
          {...shared}
          key="ranks"
          name="ranks"
          {...texts.nouns.ranks}
          columns={RANKS.filter((c) => c.key !== "problem" || result.rows.some((r) => problemOf(r) !== ""))}
          rows={result.rows}
          rowKey={(r) => String(r.rank)}
          defaultSort="rank"
        >
          {choice}
          <NotListed listed={result.rows.length} total={result.rows_total} text={texts.someRanks} />
        </Table>
      );
    case "collectives":
      return (
        <Table
          {...shared}
          key="collectives"
          name="collectives"
          {...texts.nouns.collectives}
          columns={COLLECTIVES}
          rows={result.collectives}
          rowKey={collectiveKey}
          defaultSort="-total_ns"
        >
          {choice}
          <NotListed
            listed={result.collectives.length}
            total={result.collectives_total}
            text={texts.someCollectives}
          />
        </Table>
      );
    case "steps":
      return (
        <Table
          {...shared}
          key="steps"
          name="rank-steps"
          {...texts.nouns.steps}
          columns={STEPS}
          rows={result.steps}
          rowKey={(s) => `${s.rank} ${s.step}`}
          defaultSort="rank"
        >
          {choice}
          <NotListed listed={result.steps.length} total={result.steps_total} text={texts.someSteps} />
        </Table>
      );
    default:
      return <ParallelTable result={result} shown={shown} shared={shared} choice={choice} />;
  }
}

const collectiveKey = (c: CollectiveRow): string =>
  `${c.kind} ${c.group ?? ""} ${c.group_size ?? ""} ${c.bytes ?? ""} ${String(c.on_host)}`;

function Choice({ result, shown }: { result: Result; shown: Group }) {
  return (
    <Segmented
      label={texts.table}
      value={shown}
      onPick={(g) => go({ group: g === "ranks" ? null : g, sort: null, filter: null })}
      choices={groupsOf(result).map((value) => ({ value, label: NAMES[value] }))}
    />
  );
}

interface Head {
  title: string;
  help?: string;
}

const time = <Row,>(key: keyof Row & string, head: Head, width: number): Column<Row> => ({
  key,
  ...head,
  kind: "time",
  width,
  value: (r) => r[key] as number | null,
});

/** Why a rank cannot be shown, or the streams that its figures lack. */
function problemOf({ problem, missing_streams: streams }: RankRow): string {
  return problem ?? (streams.length > 0 ? t.dataWarnings.without(streams.join(", ")) : "");
}

/** A time that is inferred where the timeline is, with its bound. */
const device = <Row,>(name: string, head: Head, width: number): Column<Row> => {
  const of = (row: Row, key: string): number | null => (row as Record<string, number | null>)[key] ?? null;
  return {
    key: `${name}_ns`,
    ...head,
    kind: "time",
    width,
    value: (r) => of(r, `${name}_ns`),
    bound: (r) => of(r, `${name}_bound_ns`),
  };
};

const RANKS: readonly Column<RankRow>[] = [
  field("rank", { title: texts.ranks.rank }, "text", 112, {
    cell: (r) => (
      <span class="value">
        {r.problem === null ? (
          <a {...linkProps({ view: "overview", ...ofRank(r.rank), ...(r.steps === 0 && { step: null }) })}>
            {r.rank}
          </a>
        ) : (
          r.rank
        )}
        <span class="muted">
          {" "}
          {r.worker}
          {r.host !== null && texts.onNode(r.host)}
        </span>
      </span>
    ),
  }),
  derived("problem", { title: texts.ranks.problem }, "text", 320, problemOf, {
    cell: (r) => <span class="value warn">{problemOf(r)}</span>,
  }),
  field("steps", { title: texts.ranks.steps }, "count", 56),
  device("step", texts.ranks.step, 72),
  device("computation", texts.ranks.computation, 94),
  device("communication", texts.ranks.communication, 152),
  device("overlap", texts.ranks.overlap, 72),
  device("exposed", texts.ranks.exposed, 178),
  device("copy", texts.ranks.copy, 118),
  device("idle", texts.ranks.idle, 72),
  time("transferring_ns", texts.ranks.transferring, 94),
  time("synchronizing_ns", texts.ranks.synchronizing, 72),
  field("last", texts.ranks.last, "count", 84, { additive: true }),
  time("caused_ns", texts.ranks.caused, 108),
  {
    ...time<RankRow>("clock_offset_ns", texts.ranks.clock, 76),
    cell: (r) => <span class="value">{signedDuration(r.clock_offset_ns)}</span>,
  },
  time("clock_residual_ns", texts.ranks.clockBound, 68),
];

const COLLECTIVES: readonly Column<CollectiveRow>[] = [
  field("kind", { title: texts.collectives.kind }, "text", 130, {
    cell: (c) => (
      <span class="value">
        {c.kind.replace(/_/g, "-")}
        {c.on_host && <span class="muted">{texts.collectiveOnHost}</span>}
      </span>
    ),
  }),
  field("group", texts.collectives.group, "text", 120, {
    cell: (c) => (
      <span class="value">
        {c.group ?? "–"}
        {c.purpose && c.purpose !== "undefined" && <span class="muted"> {c.purpose}</span>}
      </span>
    ),
  }),
  field("group_size", { title: texts.collectives.members }, "count", 78),
  field("bytes", texts.collectives.bytes, "bytes", 92, {
    cell: (c) => <span class="value">{bytes(c.bytes)}</span>,
  }),
  field("calls", { title: texts.collectives.calls }, "count", 66, { additive: true }),
  field("longest_ns", texts.collectives.longest, "time", 80, {
    cell: (c) => (
      <a
        class="value"
        data-testid="collective-timeline"
        {...toInterval(
          c.longest_start_ns,
          c.longest_start_ns + c.longest_ns,
          c.longest_start_ns + c.longest_ns,
          { rank: c.longest_rank },
        )}
        title={texts.onRank(c.longest_rank)}
      >
        {duration(c.longest_ns)}
      </a>
    ),
  }),
  field("ranks", { title: texts.collectives.ranks }, "count", 64),
  time("total_ns", texts.collectives.total, 80),
  time("mean_ns", texts.collectives.mean, 80),
  time("transfer_ns", texts.collectives.transfer, 84),
  time("synchronizing_ns", texts.collectives.synchronizing, 84),
  field("algorithm_bytes_per_s", texts.collectives.algorithm, "bytes", 92, {
    cell: (c) => (
      <span class="value">
        {c.matched === 0 && c.algorithm_bytes_per_s !== null && "≥ "}
        {rate(c.algorithm_bytes_per_s)}
      </span>
    ),
  }),
  field("bus_bytes_per_s", texts.collectives.bus, "bytes", 92, {
    cell: (c) => (
      <span class="value">
        {c.matched === 0 && c.bus_bytes_per_s !== null && "≥ "}
        {rate(c.bus_bytes_per_s)}
      </span>
    ),
  }),
];

const STEPS: readonly Column<RankStep>[] = [
  field("rank", { title: texts.steps.rank }, "text", 100),
  worded("step", { title: texts.steps.step }, 110, (s) => nameOf(s.step), {
    cell: (s) => (
      <span class="value">
        {stepLabel(s.step)}
        {s.incomplete && (
          <span class="warn" title={texts.leftOutHelp}>
            {texts.leftOut}
          </span>
        )}
      </span>
    ),
  }),
  {
    ...device<RankStep>("duration", texts.steps.duration, 84),
    cell: (s) => (
      <StepLink name={s.step} rank={s.rank} testid="rank-step-timeline">
        {duration(s.duration_ns)}
      </StepLink>
    ),
  },
  device("computation", { title: texts.ranks.computation.title }, 98),
  device("communication", { title: texts.ranks.communication.title }, 156),
  device("overlap", { title: texts.ranks.overlap.title }, 80),
  device("exposed", { title: texts.ranks.exposed.title }, 166),
  device("copy", { title: texts.ranks.copy.title }, 110),
  device("idle", { title: texts.ranks.idle.title }, 80),
  time("transferring_ns", { title: texts.ranks.transferring.title }, 98),
  time("synchronizing_ns", { title: texts.ranks.synchronizing.title }, 80),
];
