// The ranks page: step time of each rank, collectives, culprits, missing data.
import { useMemo } from "preact/hooks";
import type { Distributed as Result, RankRow } from "../../api/types";
import { color, type Category } from "../../lib/color";
import { exactDuration, percent } from "../../lib/format";
import { useLatest, useView } from "../../state/use-result";
import { ofAllRanks, stepLabel } from "../../state/selection";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { Heatmap } from "../../widgets/charts/heatmap";
import { Segmented } from "../../widgets/controls/segmented";
import { StackedBars } from "../../widgets/charts/stacked-bars";
import type { Bar } from "../../widgets/charts/stacked-bars-layout";
import { ofRank } from "../../state/links";
import type { PageProps } from "../page-props";
import { OpenCollectives } from "./open-collectives";
import { RankFindings } from "./rank-findings";
import { MissingStreams } from "../shared/data-warnings";
import { NotListed } from "../shared/not-listed";
import { Show } from "../shared/load-states";
import { shownGroup, Tables } from "./tables";
import { Culprits } from "./culprits";
import { EngineLine } from "./engine-line";
import { Notes } from "./notes";
import "./distributed.css";

const texts = t.distributed;

export function Distributed({ selected }: Pick<PageProps, "selected">) {
  const measure = MEASURES.find((m) => m.value === state.value.by)?.value ?? "step";
  const all = ofAllRanks(selected);
  // While another measure is asked for, the page stays.
  const latest = useLatest(useView("distributed", all, { measure }), JSON.stringify([all.place, all.stamp]));
  return (
    <div class="distributed fill">
      <Show resource={latest}>{(result) => <Page result={result} rank={selected.place.rank} />}</Show>
    </div>
  );
}

const MEASURES = (["step", "computation", "exposed", "waiting", "idle"] as const).map((value) => ({
  value,
  ...texts.measures[value],
}));

/** What a part of a rank's step is called, and the category whose color it has. */
const PARTS: readonly { category: Category; name: string; of: (r: RankRow) => number }[] = [
  { category: "kernel", name: texts.parts.kernel, of: (r) => r.computation_ns ?? 0 },
  { category: "memcpy", name: texts.parts.memcpy, of: (r) => r.copy_ns ?? 0 },
  { category: "communication", name: texts.parts.communication, of: (r) => r.exposed_ns ?? 0 },
  { category: "other", name: texts.parts.other, of: (r) => r.idle_ns ?? 0 },
];
/** What gloo does on the host is measured, however the device's times are known. */
function hatchedOf(result: Result): ReadonlySet<Category> {
  if (result.provenance.timeline !== "inferred") return new Set();
  const talks = result.collectives.some((c) => !c.on_host);
  return new Set<Category>(talks ? ["kernel", "memcpy", "communication"] : ["kernel", "memcpy"]);
}

const BAR_PARTS = PARTS.map((p) => ({ key: p.category, label: p.name, fill: color(p.category) }));

function Page({ result, rank }: { result: Result; rank: number }) {
  const { group, step } = state.value;
  const shown = shownGroup(result, group);
  const inferred = result.provenance.timeline === "inferred";
  return (
    <>
      <MissingStreams streams={result.provenance.missing_streams} />
      <OpenCollectives rows={result.open_collectives} />
      <Notes result={result} />
      <Culprits result={result} />
      <RankFindings rows={result.advice} inferred={inferred} />
      <EngineLine />
      <RankChart {...{ result, rank, step }} onSelect={(key) => go(ofRank(Number(key)))} />
      {result.grid.ranks.length > 1 && result.grid.steps.length > 1 && (
        <Picture result={result} rank={rank} />
      )}
      <Tables result={result} shown={shown} inferred={inferred} />
    </>
  );
}

interface RankChartProps {
  result: Result;
  rank: number;
  step: number | null;
  onSelect: (rank: string) => void;
}

/** The step of each rank as a bar of its parts; nothing without times of steps. */
export function RankChart({ result, rank, step, onSelect }: RankChartProps) {
  const hatched = hatchedOf(result);
  const here = result.rows.filter((r) => r.step_ns !== null);
  // Of flight recorders alone a step is the time from the first entry to the last.
  const isTimed =
    here.some((r) => r.computation_ns !== null) || !result.notes.some((n) => n.code === "no_durations");
  if (!isTimed || here.length === 0) return null;
  return (
    <section class="rankchart">
      <h2>
        {texts.ofEachRank(step)}
        {here.some((r) => r.on_host) && (
          <small class="muted">{texts.onHost(here.every((r) => r.on_host))}</small>
        )}
        <small>
          <NotListed listed={result.rows.length} total={result.rows_total} text={texts.someRanks} />
        </small>
      </h2>
      <StackedBars
        bars={here.map(barOf)}
        parts={BAR_PARTS}
        hatched={hatched}
        selected={String(rank)}
        average={null}
        noun={texts.rank}
        testid="rank-chart"
        picture="ranks"
        onSelect={onSelect}
      />
      <Legend rows={here} hatched={hatched} />
    </section>
  );
}

/** Every rank in every step: who is slow, and since when. */
function Picture({ result: { grid }, rank }: { result: Result; rank: number }) {
  const { levels } = state.value;
  const rows = useMemo(() => grid.ranks.map(String), [grid]);
  const columns = useMemo(() => grid.steps.map((s) => stepLabel(s)), [grid]);
  const value = (row: number, column: number): number | null =>
    grid.values[row * columns.length + column] ?? null;
  const order = levels === "worst" ? "worst" : "rank";
  return (
    <section class="rankgrid">
      <div class="toolbar">
        <h2>{texts.grid}</h2>
        <Segmented
          label={texts.measure}
          value={grid.measure}
          onPick={(m) => go({ by: m === "step" ? null : m })}
          choices={MEASURES}
        />
        <Segmented
          label={texts.order}
          value={order}
          onPick={(o) => go({ levels: o === "rank" ? null : o })}
          choices={[
            { value: "rank", label: texts.byRank },
            { value: "worst", label: texts.longestFirst },
          ]}
        />
        {grid.steps_each > 1 && <span class="muted">{texts.stepsEach(grid.steps_each)}</span>}
      </div>
      <Heatmap
        testid="rank-grid"
        values={grid.values}
        rows={rows}
        columns={columns}
        worst={order === "worst"}
        selected={String(rank)}
        label={texts.gridLabel(grid.measure)}
        onSelect={(row) => go(ofRank(Number(row)))}
        tooltip={(row, column) =>
          texts.cell(
            rows[row] ?? "",
            columns[column] ?? "",
            <span data-testid="grid-value" data-value={value(row, column) ?? ""}>
              {value(row, column) === null ? texts.unknown : exactDuration(value(row, column))}
            </span>,
          )
        }
      />
    </section>
  );
}

function barOf(row: RankRow): Bar {
  const parts = Object.fromEntries(PARTS.map((p) => [p.category, p.of(row)]));
  const bounds = {
    kernel: row.computation_bound_ns,
    memcpy: row.copy_bound_ns,
    communication: row.exposed_bound_ns,
    other: row.idle_bound_ns,
  };
  return {
    key: String(row.rank),
    label: String(row.rank),
    total: row.step_ns ?? 0,
    parts,
    incomplete: false,
    ...(row.timeline === "inferred" && { bound: row.step_bound_ns, bounds }),
  };
}

function Legend({ rows, hatched }: { rows: readonly RankRow[]; hatched: ReadonlySet<Category> }) {
  const whole = rows.reduce((sum, r) => sum + (r.step_ns ?? 0), 0);
  const hidden = rows.reduce((sum, r) => sum + (r.overlap_ns ?? 0), 0);
  return (
    <ul class="legend" aria-label={texts.legend}>
      {PARTS.map((p) => {
        const ns = rows.reduce((sum, r) => sum + p.of(r), 0);
        return (
          <li key={p.category} data-key={p.category} data-value={ns}>
            <i
              class={hatched.has(p.category) ? "swatch inferred" : "swatch"}
              style={{ "--fill": color(p.category) }}
            />
            {p.name} <b>{percent(whole > 0 ? ns / whole : null)}</b>
          </li>
        );
      })}
      <li class="muted" title={texts.hiddenHelp(exactDuration(hidden))}>
        {texts.hidden(percent(whole > 0 ? hidden / whole : null))}
      </li>
    </ul>
  );
}
