// All ranks of a run: what their steps go to, collectives, stragglers, and what is missing.
import { useMemo } from "preact/hooks";
import type { CollectiveRow, Distributed as Result, RankRow, RankStep, Straggler } from "../api";
import { CATEGORIES, color, type Category } from "../base/color";
import { bytes, count, duration, exactDuration, percent, plural, rate, signedDuration } from "../base/format";
import { useLatest, useView } from "../load";
import { ofAllRanks, stepNumber } from "../place";
import { go, state } from "../state";
import type { Column } from "../widgets/columns";
import { Heatmap } from "../widgets/heatmap";
import { Segmented } from "../widgets/segmented";
import { StackedBars, type Bar } from "../widgets/stackedbars";
import { Table } from "../widgets/table";
import { linkProps, stretch } from "./link";
import type { PageProps } from "./page";
import { RankAdvice } from "./rankadvice";
import { Show } from "./status";
import { StepLink } from "./steplink";

type Group = "ranks" | "collectives" | "steps";

export function Distributed({ selected }: Pick<PageProps, "selected">) {
  const measure = MEASURES.find((m) => m.value === state.value.by)?.value ?? "step";
  const all = ofAllRanks(selected);
  const resource = useView("distributed", all, { measure });
  // While another measure is asked for, the page stays.
  const loaded = useLatest(resource.loaded, JSON.stringify([all.place, all.stamp]));
  return (
    <div class="distributed fill">
      <Show resource={{ ...resource, loaded }}>{(result) => <Page result={result} rank={selected.place.rank} />}</Show>
    </div>
  );
}

const MEASURES = [
  { value: "step", label: "Step", title: "How long the step takes" },
  { value: "computation", label: "Computation", title: "Kernels that are not communication" },
  { value: "exposed", label: "Exposed", title: "Communication that no computation hides" },
  { value: "waiting", label: "Waiting", title: "In collectives, for the last rank to come" },
  { value: "idle", label: "Idle", title: "The device has nothing to do" },
] as const;

/** What a part of a rank's step is called, and the category whose colour it has. */
const PARTS: readonly { category: Category; name: string; of: (r: RankRow) => number }[] = [
  { category: "kernel", name: "Computation", of: (r) => r.computation_ns ?? 0 },
  { category: "memcpy", name: "Copies", of: (r) => r.copy_ns ?? 0 },
  { category: "communication", name: "Exposed communication", of: (r) => r.exposed_ns ?? 0 },
  { category: "other", name: "Idle", of: (r) => r.idle_ns ?? 0 },
];
/** What gloo does on the host is measured, however the device's times are known. */
function hatchedOf(result: Result): ReadonlySet<Category> {
  if (result.provenance.timeline !== "inferred") return new Set();
  const talks = result.collectives.some((c) => !c.on_host);
  return new Set<Category>(talks ? ["kernel", "memcpy", "communication"] : ["kernel", "memcpy"]);
}

const NAMES = Object.fromEntries(PARTS.map((p) => [p.category, p.name]));

function Page({ result, rank }: { result: Result; rank: number }) {
  const { group, step } = state.value;
  const shown: Group = group === "collectives" || group === "steps" ? group : "ranks";
  const inferred = result.provenance.timeline === "inferred";
  const hatched = hatchedOf(result);
  const here = result.rows.filter((r) => r.step_ns !== null);
  return (
    <>
      <Notes result={result} />
      <Stragglers result={result} />
      <RankAdvice rows={result.advice} inferred={inferred} />
      {here.length > 0 && (
        <section class="rankchart">
          <h2>{step === null ? "The average step of each rank" : `Step ${step} of each rank`}{here.some((r) => r.on_host) && <small class="muted"> computation is that of the host: {here.every((r) => r.on_host) ? "there is no device" : "some ranks have no device"}</small>}</h2>
          <StackedBars bars={here.map(barOf)} inferred={inferred} hatched={hatched} selected={String(rank)} average={null} noun="Rank" testid="rank-chart" names={NAMES}
            onSelect={(key) => go({ rank: Number(key), step })} />
          <Legend rows={here} hatched={hatched} />
        </section>
      )}
      {result.grid.ranks.length > 1 && result.grid.steps.length > 1 && <Picture result={result} rank={rank} />}
      <Tables result={result} shown={shown} inferred={inferred} />
    </>
  );
}

/** Every rank in every step: who is slow, and since when. */
function Picture({ result: { grid }, rank }: { result: Result; rank: number }) {
  const { step, levels } = state.value;
  const rows = useMemo(() => grid.ranks.map(String), [grid]);
  const columns = useMemo(() => grid.steps.map((s) => String(stepNumber(s) ?? s)), [grid]);
  const value = (row: number, column: number): number | null => grid.values[row * columns.length + column] ?? null;
  const order = levels === "worst" ? "worst" : "rank";
  return (
    <section class="rankgrid">
      <div class="toolbar">
        <h2>Ranks by steps</h2>
        <Segmented label="Measure" value={grid.measure} onPick={(m) => go({ by: m === "step" ? null : m })} choices={MEASURES} />
        <Segmented label="Order" value={order} onPick={(o) => go({ levels: o === "rank" ? null : o })} choices={[
          { value: "rank", label: "By rank" }, { value: "worst", label: "Longest first" },
        ]} />
        {grid.steps_each > 1 && <span class="muted">{grid.steps_each} steps a column, on average</span>}
      </div>
      <Heatmap testid="rank-grid" values={grid.values} rows={rows} columns={columns} worst={order === "worst"} selected={String(rank)} label={`Ranks by steps: ${grid.measure}.`}
        onSelect={(row) => go({ rank: Number(row), step })}
        tooltip={(row, column) => <><b>Rank {rows[row]}</b>, step {columns[column]}: <span data-testid="grid-value" data-value={value(row, column) ?? ""}>{value(row, column) === null ? "nothing known" : exactDuration(value(row, column))}</span></>} />
    </section>
  );
}

function barOf(row: RankRow): Bar {
  const parts = Object.fromEntries(CATEGORIES.map((c) => [c, PARTS.find((p) => p.category === c)?.of(row) ?? 0])) as Record<Category, number>;
  const bounds = { kernel: row.computation_bound_ns, memcpy: row.copy_bound_ns, communication: row.exposed_bound_ns, other: row.idle_bound_ns };
  return { key: String(row.rank), label: String(row.rank), total: row.step_ns ?? 0, parts, incomplete: false, ...(row.timeline === "inferred" && { bound: row.step_bound_ns, bounds }) };
}

function Legend({ rows, hatched }: { rows: readonly RankRow[]; hatched: ReadonlySet<Category> }) {
  const whole = rows.reduce((sum, r) => sum + (r.step_ns ?? 0), 0);
  const hidden = rows.reduce((sum, r) => sum + (r.overlap_ns ?? 0), 0);
  return (
    <ul class="legend" aria-label="What the ranks' steps go to">
      {PARTS.map((p) => {
        const ns = rows.reduce((sum, r) => sum + p.of(r), 0);
        return (
          <li key={p.category} data-key={p.category} data-value={ns}>
            <i class={hatched.has(p.category) ? "swatch inferred" : "swatch"} style={{ "--fill": color(p.category) }} />{p.name} <b>{percent(whole > 0 ? ns / whole : null)}</b>
          </li>
        );
      })}
      <li class="muted" title={`Communication while there is computation: ${exactDuration(hidden)} over all ranks.`}>{percent(whole > 0 ? hidden / whole : null)} communication hidden by computation</li>
    </ul>
  );
}

function Notes({ result }: { result: Result }) {
  if (result.notes.length === 0) return null;
  return (
    <aside class="notice" data-kind="host_only">
      {result.notes.map((n) => <p key={n.code} data-testid="rank-note" data-code={n.code}><b>{n.message}</b> {n.hint}</p>)}
    </aside>
  );
}

const CAUSES: Readonly<Record<string, string>> = {
  computation: "it computes longer", copy: "it copies longer", idle: "its device has nothing to do for longer: look at its host",
};

function Stragglers({ result }: { result: Result }) {
  if (result.stragglers.length === 0) return null;
  return (
    <aside class="notice">
      <ul class="plainlist" data-testid="stragglers">{result.stragglers.map((s) => <Late key={s.rank} straggler={s} />)}</ul>
    </aside>
  );
}

function Late({ straggler: s }: { straggler: Straggler }) {
  const why = CAUSES[s.cause];
  return (
    <li data-rank={s.rank} data-cause={s.cause}>
      <b>The others wait for <a {...linkProps({ view: "overview", rank: s.rank, span: state.value.span })}>rank {s.rank}</a>:</b>{" "}
      it was last in {count(s.last)} of {plural(s.collectives, "collective")} in which somebody waited, {duration(s.caused_ns)} of each other rank's time.
      {why ? ` Per step ${why}, ${duration(s.excess_ns)} more than the median of the others.` : " What it does longer cannot be told."}
    </li>
  );
}

function Tables({ result, shown, inferred }: { result: Result; shown: Group; inferred: boolean }) {
  const { sort, filter } = state.value;
  const shared = {
    sort, filter, inferred,
    onSort: (s: string | null) => go({ sort: s }), onFilter: (f: string | null) => go({ filter: f }, "replace"),
  };
  const choice = (
    <Segmented label="Table" value={shown} onPick={(g) => go({ group: g === "ranks" ? null : g, sort: null, filter: null })} choices={[
      { value: "ranks", label: "Ranks" }, { value: "collectives", label: "Collectives" }, { value: "steps", label: "Steps" },
    ]} />
  );
  const more = (listed: number, total: number, which: string) => listed < total && <span class="muted" data-testid="not-listed" data-value={total - listed}>the {count(listed)} of {count(total)} {which}</span>;
  switch (shown) {
    case "ranks": return <Table {...shared} key="ranks" name="ranks" noun="rank" columns={RANKS.filter((c) => c.key !== "problem" || result.rows.some((r) => r.problem !== null))} rows={result.rows} rowKey={(r) => String(r.rank)} defaultSort="rank">{choice}</Table>;
    case "collectives": return (
      <Table {...shared} key="collectives" name="collectives" noun="collective" columns={COLLECTIVES} rows={result.collectives}
        rowKey={(c) => `${c.kind} ${c.group ?? ""} ${c.group_size ?? ""} ${c.bytes ?? ""} ${String(c.on_host)}`} defaultSort="-total_ns">{choice}{more(result.collectives.length, result.collectives_total, "with the most time")}</Table>
    );
    case "steps": return <Table {...shared} key="steps" name="rank-steps" noun="step" columns={STEPS} rows={result.steps} rowKey={(s) => `${s.rank} ${s.step}`} defaultSort="rank">{choice}{more(result.steps.length, result.steps_total, "that took longest against the median of their step")}</Table>;
  }
}

const time = <Row,>(key: keyof Row & string, title: string, width: number, help: string): Column<Row> =>
  ({ key, title, kind: "time", width, help, value: (r) => r[key] as number | null });

/** A time that is inferred where the timeline is, with its bound. */
const device = <Row,>(name: string, title: string, width: number, help: string): Column<Row> => {
  const of = (row: Row, key: string): number | null => (row as Record<string, number | null>)[key] ?? null;
  return { key: `${name}_ns`, title, kind: "time", width, help, value: (r) => of(r, `${name}_ns`), bound: (r) => of(r, `${name}_bound_ns`) };
};

const RANKS: readonly Column<RankRow>[] = [
  { key: "rank", title: "Rank", kind: "text", width: 112, value: (r) => r.rank,
    cell: (r) => (
      <span class="value">{r.problem === null ? <a {...linkProps({ view: "overview", rank: r.rank, span: state.value.span })}>{r.rank}</a> : r.rank}
        <span class="muted"> {r.worker}{r.host !== null && ` on ${r.host}`}</span></span>
    ) },
  { key: "problem", title: "Problem", kind: "text", width: 320, value: (r) => r.problem, cell: (r) => <span class="value warn">{r.problem}</span> },
  { key: "steps", title: "Steps", kind: "count", width: 56, value: (r) => r.steps },
  device("step", "Step", 72, "Mean over the complete steps."),
  device("computation", "Computation", 94, "Kernels that are not communication; operators without a device."),
  device("communication", "Communication", 112, "Kernels, and gloo's work on the host."),
  device("overlap", "Overlap", 72, "Both at once."),
  device("exposed", "Exposed", 72, "Communication that no computation hides."),
  device("copy", "Copies", 68, "Copies and fills beside these."),
  device("idle", "Idle", 72, "The rest of the step."),
  time("transferring_ns", "Transferring", 94, "Of the communication calls: what the last one to come takes."),
  time("synchronising_ns", "Waiting", 72, "Of the communication calls: waiting for the last rank to come."),
  { key: "last", title: "Last", kind: "count", width: 52, help: "In how many collectives the others have waited for it.", value: (r) => r.last, additive: true },
  time("caused_ns", "Caused", 72, "How long each other rank has waited for it, in all."),
  { ...time<RankRow>("clock_offset_ns", "Clock", 76, "How far its clock is ahead of the lowest rank's, by the ends of the collectives that they have in common."), cell: (r) => <span class="value">{signedDuration(r.clock_offset_ns)}</span> },
  time("clock_residual_ns", "± Clock", 68, "95 % of the ends of these collectives agree to this."),
];

const COLLECTIVES: readonly Column<CollectiveRow>[] = [
  { key: "kind", title: "Collective", kind: "text", width: 130, value: (c) => c.kind, cell: (c) => <span class="value">{c.kind.replace(/_/g, "-")}{c.on_host && <span class="muted"> on the host</span>}</span> },
  { key: "group", title: "Group", kind: "text", width: 120, help: "The process group and what it is for.", value: (c) => c.group,
    cell: (c) => <span class="value">{c.group ?? "–"}{c.purpose && c.purpose !== "undefined" && <span class="muted"> {c.purpose}</span>}</span> },
  { key: "group_size", title: "Members", kind: "count", width: 78, value: (c) => c.group_size },
  { key: "bytes", title: "Bytes", kind: "bytes", width: 92, help: "Of one call on one rank.", value: (c) => c.bytes, cell: (c) => <span class="value">{bytes(c.bytes)}</span> },
  { key: "calls", title: "Calls", kind: "count", width: 66, additive: true, value: (c) => c.calls },
  { key: "longest_ns", title: "Longest", kind: "time", width: 80, help: "The call that took longest, of all ranks; the link shows it in its rank's timeline.", value: (c) => c.longest_ns,
    cell: (c) => <a class="value" data-testid="collective-timeline" {...stretch(c.longest_start_ns, c.longest_start_ns + c.longest_ns, c.longest_start_ns + c.longest_ns, { rank: c.longest_rank })} title={`On rank ${c.longest_rank}\nShow it in the timeline`}>{duration(c.longest_ns)}</a> },
  { key: "ranks", title: "Ranks", kind: "count", width: 64, value: (c) => c.ranks },
  time("total_ns", "Total", 80, "Over all ranks."),
  time("mean_ns", "Mean", 80, "Of one call on one rank, waiting included."),
  time("transfer_ns", "Transfer", 84, "Of one call: what the last rank to come takes. Only where the same call is known on several ranks."),
  time("synchronising_ns", "Waiting", 84, "Of one call: what it takes longer, on average."),
  { key: "algorithm_bytes_per_s", title: "Algorithm", kind: "bytes", width: 92, help: "Bytes by the transfer's time; where that is not known, by the mean, and so too little.", value: (c) => c.algorithm_bytes_per_s,
    cell: (c) => <span class="value">{c.matched === 0 && c.algorithm_bytes_per_s !== null && "≥ "}{rate(c.algorithm_bytes_per_s)}</span> },
  { key: "bus_bytes_per_s", title: "Bus", kind: "bytes", width: 92, help: "What goes over each link, as the NCCL tests count it.", value: (c) => c.bus_bytes_per_s,
    cell: (c) => <span class="value">{c.matched === 0 && c.bus_bytes_per_s !== null && "≥ "}{rate(c.bus_bytes_per_s)}</span> },
];

const STEPS: readonly Column<RankStep>[] = [
  { key: "rank", title: "Rank", kind: "text", width: 100, value: (s) => s.rank },
  { key: "step", title: "Step", kind: "text", width: 110, value: (s) => s.step,
    cell: (s) => <span class="value">{stepNumber(s.step) ?? s.step}{s.incomplete && <span class="warn" title="Cut off by the end of the recording, or primed: in no mean."> left out</span>}</span> },
  { ...device<RankStep>("duration", "Duration", 84, "The step's window; the link shows it in the rank's timeline."), cell: (s) => <StepLink name={s.step} rank={s.rank} testid="rank-step-timeline">{duration(s.duration_ns)}</StepLink> },
  device("computation", "Computation", 98, ""), device("communication", "Communication", 116, ""), device("overlap", "Overlap", 80, ""),
  device("exposed", "Exposed", 80, ""), device("copy", "Copies", 76, ""), device("idle", "Idle", 80, ""),
  time("transferring_ns", "Transferring", 98, ""), time("synchronising_ns", "Waiting", 80, ""),
];
