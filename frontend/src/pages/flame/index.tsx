// The flame graph of modules, operators, Python frames and device activities.
import type { RefObject } from "preact";
import { useContext, useMemo, useRef, useState } from "preact/hooks";
import type { Flame as Result, FlameNode, Options } from "../../api/types";
import { download, downloadPicture } from "../../lib/dom";
import { duration, percent } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import { pictureWithLabels } from "../../lib/png";
import { joinNames, splitNames } from "../../lib/name-path";
import { useLatest, useView } from "../../state/use-result";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { WindowContext, windowLine } from "../../widgets/window-context";
import { FlameGraph } from "../../widgets/flamegraph/flamegraph";
import { Segmented } from "../../widgets/controls/segmented";
import { MissingStreams } from "../shared/data-warnings";
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
import { boxOf, namesOf } from "../shared/flame-boxes";
import { matchedTime } from "../shared/flame-rows";
import { NoDeviceTimes } from "../shared/no-device-times";
import type { PageProps } from "../page-props";
import { Show } from "../shared/load-states";
import { collapsed } from "./collapsed";
import { Details } from "./details";
import { Sandwich } from "./sandwich";
import "./flame.css";

const texts = t.flame;

type Levels = "all" | "operators" | "modules";
type Tree = "top_down" | "bottom_up" | "sandwich";

export function Flame({ selected, base }: PageProps) {
  const { by, levels, group, zoom, tree, frame } = state.value;
  const ignored = useIgnored();
  const host = base.provenance.timeline === "none";
  const shown: Levels = levels === "operators" || levels === "modules" ? levels : "all";
  const kind: Tree = frame !== null ? "sandwich" : tree === "bottom_up" ? tree : "top_down";
  const options: Omit<Options["flame"], "step"> = {
    by: by === "host" || host ? "host" : "device",
    levels: shown,
    group: group === "class" ? "class" : "instance",
    ...ignoring(ignored),
    ...(kind === "bottom_up" && { direction: kind }),
    ...(frame !== null ? { frame } : zoom !== null && { root: zoom }),
  };
  const { step } = selected.place;
  const latest = useLatest(useView("flame", selected, options), JSON.stringify([selected.place, kind]));
  return (
    <div class="flame fill" aria-busy={latest.isStale}>
      {host && <NoDeviceTimes overview={base} />}
      <Show resource={latest}>
        {(result) => (
          <>
            {result.by === "device" && <MissingStreams streams={result.provenance.missing_streams} />}
            <Graph {...{ result, ignored, kind, hostOnly: host, ofStep: step !== null }} />
          </>
        )}
      </Show>
      {latest.loaded.status === "failed" && (zoom !== null || frame !== null) && (
        <p class="state">
          <button type="button" data-testid="zoom-reset" onClick={() => go({ zoom: null, frame: null })}>
            {texts.showAll}
          </button>
        </p>
      )}
    </div>
  );
}

interface GraphProps {
  result: Result;
  kind: Tree;
  ignored: Ignored;
  hostOnly: boolean;
  /** Whether a step is selected. */
  ofStep: boolean;
}

function Graph(props: GraphProps) {
  const { result, kind, ignored, ofStep } = props;
  const { rows } = result;
  const { zoom } = state.value;
  const [search, setSearch] = useSearch();
  const [at, setAt] = useState<FlameNode | null>(null);
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const inferred = result.by === "device" && result.provenance.timeline === "inferred";
  const names = splitNames(zoom);
  const matched = useMemo(() => matchedTime(rows, search, (r) => r.total_ns), [rows, search]);
  const shared = {
    search,
    onLook: setAt,
    onCanvas: (c: HTMLCanvasElement | null): void => {
      canvas.current = c;
    },
    inferred,
  };
  return (
    <>
      <div class="toolbar">
        <Choices {...props} />
        <IgnoreMenu ignored={ignored} />
        <Search text={search} set={setSearch} />
        <Matched
          search={search}
          ns={matched}
          total={percent(result.total_ns ? matched / result.total_ns : 0)}
        />
        <span class="push" />
        <SaveButtons rows={rows} names={names} kind={kind} canvas={canvas} />
      </div>
      <Crumbs names={names} />
      {kind === "sandwich" ? (
        <Sandwich result={result} {...shared} />
      ) : (
        <OneTree result={result} names={names} {...shared} />
      )}
      <Details
        result={result}
        row={at ?? (zoom !== null || kind === "sandwich" ? (rows[0] ?? null) : null)}
        inferred={inferred}
        ignored={ignored}
        window={texts.window(ofStep, duration(result.window_ns))}
      />
    </>
  );
}

interface OneTreeProps {
  result: Result;
  names: readonly string[];
  search: string;
  inferred: boolean;
  onLook: (row: FlameNode | null) => void;
  onCanvas: (canvas: HTMLCanvasElement | null) => void;
}

function OneTree({ result, names, search, inferred, onLook, onCanvas }: OneTreeProps) {
  const { rows } = result;
  const boxes = useMemo(() => rows.map((r) => boxOf(r, inferred)), [rows, inferred]);
  if (rows.length === 0)
    return (
      <p class="state" data-testid="flame-empty">
        {texts.empty(result.by)}
      </p>
    );
  const zoomTo = (row: number): void => {
    // The first row is the one that is zoomed to: a click on it goes back.
    if (names.length > 0 && row === 0) zoomOut(names);
    else go({ zoom: joinNames([...names.slice(0, -1), ...namesOf(rows, row)]) });
  };
  return (
    <FlameGraph
      boxes={boxes}
      total={result.total_ns ?? 0}
      search={search}
      zoomed={names.length > 0}
      onLook={(i) => onLook(i === null ? null : (rows[i] ?? null))}
      onZoom={zoomTo}
      onOut={() => zoomOut(names)}
      onCanvas={onCanvas}
      label={texts.label(result.by, rows.length)}
    />
  );
}

/** The sandwich of what fills the width, or else of what has the most time of its own. */
function firstFrame({ rows }: Result): string | null {
  const zoomed = state.value.zoom === null ? undefined : rows[0];
  const [most] = [...rows].sort((a, b) => b.self_ns - a.self_ns);
  const row = zoomed ?? most;
  return row ? fullName(row) : null;
}

function Choices({ result, kind, hostOnly }: GraphProps) {
  const { group } = state.value;
  const start = { tree: null, frame: null, zoom: null };
  return (
    <>
      <Segmented
        label={texts.tree}
        value={kind}
        onPick={(v) =>
          go({
            ...start,
            ...(v === "bottom_up" && { tree: v }),
            ...(v === "sandwich" && { frame: firstFrame(result) }),
          })
        }
        choices={[
          { value: "top_down", ...texts.topDown },
          { value: "bottom_up", ...texts.bottomUp },
          { value: "sandwich", ...texts.sandwich, disabled: result.rows.length === 0 },
        ]}
      />
      <Segmented
        label={texts.time}
        value={result.by}
        onPick={(v) => go({ by: v === "host" ? v : null, frame: null })}
        choices={[
          {
            value: "device",
            label: texts.device.label,
            disabled: hostOnly,
            title: hostOnly ? texts.noDevice : texts.device.title,
          },
          { value: "host", ...texts.host },
        ]}
      />
      <Segmented
        label={texts.modules}
        value={group === "class" ? "class" : "instance"}
        onPick={(v) => go({ group: v === "class" ? v : null, zoom: null, frame: null })}
        choices={[
          { value: "instance", label: texts.eachModule, disabled: !result.has_modules },
          { value: "class", ...texts.byClass, disabled: !result.has_modules },
        ]}
      />
    </>
  );
}

interface SaveButtonsProps {
  rows: readonly FlameNode[];
  names: readonly string[];
  kind: Tree;
  canvas: RefObject<HTMLCanvasElement | null>;
}

function SaveButtons({ rows, names, kind, canvas }: SaveButtonsProps) {
  const title = [...names.slice(-1), windowLine(useContext(WindowContext))].filter(Boolean).join(" · ");
  return (
    <>
      {kind === "top_down" && (
        <button
          type="button"
          class="quiet"
          data-testid="collapsed"
          onClick={() => download("flame.txt", collapsed(rows, names), "text/plain")}
          title={texts.stacksHelp}
        >
          {texts.stacks}
        </button>
      )}
      <button
        type="button"
        class="quiet"
        data-testid="png"
        onClick={() =>
          canvas.current && downloadPicture("flame.png", pictureWithLabels(canvas.current, { title }))
        }
        title={t.png.save}
      >
        PNG
      </button>
    </>
  );
}
