// The differential flame graph: the call trees of both traces as one, colored by the change.
import type { RefObject } from "preact";
import { useContext, useMemo, useRef, useState } from "preact/hooks";
import type { FlameDiff as Result, FlameDiffNode, Options } from "../../api/types";
import { downloadPicture } from "../../lib/dom";
import { duration, exactDuration, percent, relativeChange, signedDuration } from "../../lib/format";
import { pictureWithLabels } from "../../lib/png";
import { joinNames, splitNames } from "../../lib/name-path";
import { useFlameDiff, useLatest } from "../../state/use-result";
import type { Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { compare } from "../../i18n/compare";
import { WindowContext, windowLine } from "../../widgets/window-context";
import { FlameGraph } from "../../widgets/flamegraph/flamegraph";
import { Segmented } from "../../widgets/controls/segmented";
import {
  Crumbs,
  ignoring,
  IgnoreMenu,
  Matched,
  Search,
  useIgnored,
  useSearch,
  zoomOut,
  type Ignored,
} from "../shared/flame-controls";
import { namesOf, type TreeRow } from "../shared/flame-boxes";
import { KINDS, matchedTime } from "../shared/flame-rows";
import { Show } from "../shared/load-states";
import { boxOf, changeOf, LEGEND, sizeOf, type Change, type Width } from "./flame-boxes";
import { WORDS } from "./rows";
import "./flame.css";

const texts = compare.diffFlame;

interface FlameDiffProps {
  selected: Selected;
  other: Selected;
}

export function FlameDiff({ selected, other }: FlameDiffProps) {
  const { by, levels, zoom } = state.value;
  const ignored = useIgnored();
  const options: Omit<Options["flame_diff"], "step" | "base_step"> = {
    by: by === "device" || by === "host" ? by : "best",
    levels: levels === "operators" || levels === "modules" ? levels : "all",
    // Modules are numbered in order of their first call: one more would move all after it.
    group: "class",
    ...ignoring(ignored),
    ...(zoom !== null && { root: zoom }),
  };
  const latest = useLatest(
    useFlameDiff(selected, other, options),
    JSON.stringify([selected.place, other.place]),
  );
  return (
    <div class="flamediff" aria-busy={latest.isStale}>
      <Show resource={latest}>
        {(result) => <Graph result={result} levels={options.levels ?? "all"} ignored={ignored} />}
      </Show>
    </div>
  );
}

interface GraphProps {
  result: Result;
  levels: "all" | "operators" | "modules";
  ignored: Ignored;
}

function Graph({ result, levels, ignored }: GraphProps) {
  const { rows } = result;
  const { zoom, width: asked } = state.value;
  const width: Width = asked === "base" || asked === "now" ? asked : "both";
  const [search, setSearch] = useSearch();
  const [at, setAt] = useState<FlameDiffNode | null>(null);
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const boxes = useMemo(() => rows.map((r) => boxOf(r, width)), [rows, width]);
  const named: (FlameDiffNode & TreeRow)[] = useMemo(
    () => rows.map((r) => ({ ...r, full_name: null })),
    [rows],
  );
  const names = splitNames(zoom);
  const total = rows.reduce((sum, r) => sum + (r.parent === null ? sizeOf(r, width) : 0), 0);
  const matched = matchedTime(named, search, (r) => sizeOf(r, width));
  const zoomTo = (row: number): void => {
    if (zoom !== null && row === 0) zoomOut(names);
    else go({ zoom: joinNames([...names.slice(0, -1), ...namesOf(named, row)]) });
  };
  return (
    <>
      <div class="toolbar">
        <Choices levels={levels} width={width} />
        <IgnoreMenu ignored={ignored} />
        <Search text={search} set={setSearch} />
        <Matched search={search} ns={matched} total={percent(total ? matched / total : 0)} />
        <span class="push" />
        <SaveButton canvas={canvas} />
      </div>
      <Legend />
      <Crumbs names={names} />
      {total === 0 ? (
        <p class="state" data-testid="flame-empty">
          {texts.empty}
        </p>
      ) : (
        <FlameGraph
          boxes={boxes}
          total={total}
          search={search}
          zoomed={zoom !== null}
          testid="flamegraph-diff"
          onLook={(i) => setAt(i === null ? null : (rows[i] ?? null))}
          onZoom={zoomTo}
          onOut={() => zoomOut(names)}
          onCanvas={(c) => {
            canvas.current = c;
          }}
          label={texts.label(result.by, rows.length)}
        />
      )}
      <Details result={result} row={at ?? (zoom === null ? null : (rows[0] ?? null))} />
    </>
  );
}

function Choices({ levels, width }: { levels: GraphProps["levels"]; width: Width }) {
  return (
    <>
      <Segmented
        label={t.flame.show}
        value={levels}
        onPick={(v) => go({ levels: v === "all" ? null : v, zoom: null })}
        choices={[
          { value: "all", label: t.flame.everything },
          { value: "operators", ...t.flame.operators },
          { value: "modules", label: t.flame.modules },
        ]}
      />
      <Segmented
        label={texts.width}
        value={width}
        onPick={(v) => go({ width: v === "both" ? null : v })}
        choices={[
          { value: "both", ...texts.both },
          { value: "base", ...texts.base },
          { value: "now", ...texts.now },
        ]}
      />
    </>
  );
}

function SaveButton({ canvas }: { canvas: RefObject<HTMLCanvasElement | null> }) {
  const title = windowLine(useContext(WindowContext));
  return (
    <button
      type="button"
      class="quiet"
      data-testid="png"
      title={t.png.save}
      onClick={() =>
        canvas.current && downloadPicture("flame-diff.png", pictureWithLabels(canvas.current, { title }))
      }
    >
      PNG
    </button>
  );
}

/** The colors, each with its words: what is slower is red and has a plus. */
function Legend() {
  return (
    <ul class="legend difflegend" data-testid="diff-legend">
      {LEGEND.map((one: Change) => (
        <li key={one} data-key={one}>
          <i class="swatch" data-change={one} /> {texts.legend[one]}
        </li>
      ))}
    </ul>
  );
}

function Details({ result, row }: { result: Result; row: FlameDiffNode | null }) {
  if (!row)
    return (
      <div class="flame-details muted" role="status" data-testid="flame-details">
        {texts.whole(result.by, duration(result.base_total_ns), duration(result.now_total_ns))}{" "}
        {texts.perStep(result.base_steps, result.now_steps)}
      </div>
    );
  const share = row.base_ns && row.change_ns !== null ? relativeChange(row.change_ns / row.base_ns) : null;
  const verdict = row.status === "both" ? WORDS[row.verdict] : compare.diff.statuses[row.status];
  const errors = [
    row.noise_ns ? compare.diff.bySpread(duration(row.noise_ns)) : "",
    row.bound_ns ? compare.diff.byBounds(duration(row.bound_ns)) : "",
  ].filter(Boolean);
  return (
    <div
      class="flame-details"
      role="status"
      data-testid="flame-details"
      data-name={row.name}
      data-value={row.change_ns ?? ""}
    >
      <i class="swatch" data-change={changeOf(row)} /> <b>{row.name}</b>{" "}
      <span class="muted">{KINDS[row.kind] ?? row.kind}</span>{" "}
      <span title={`${exactDuration(row.base_ns)} → ${exactDuration(row.now_ns)}`}>
        {duration(row.base_ns)} → {duration(row.now_ns)}
      </span>
      , <b>{signedDuration(row.change_ns)}</b>
      {share !== null && ` (${share})`}, {compare.diff.said([verdict, ...errors])},{" "}
      {texts.calls(calls(row.base_calls), calls(row.now_calls))}
    </div>
  );
}

const calls = (n: number): string => (Number.isInteger(n) ? String(n) : n.toPrecision(3));
