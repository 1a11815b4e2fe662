// The flame graph of modules, operators, Python frames and device activities.
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Flame as Result, FlameNode, Options } from "../../api/types";
import { categoryOf, color } from "../../lib/color";
import { download, downloadPicture } from "../../lib/dom";
import { quote } from "../../lib/filter";
import { boundOf, duration, exactDuration, percent } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import { joinNames, splitNames } from "../../lib/name-path";
import { useLatest, useView } from "../../state/use-result";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { FlameGraph } from "../../widgets/flamegraph/flamegraph";
import type { FlameBox } from "../../widgets/flamegraph/layout";
import { Segmented } from "../../widgets/controls/segmented";
import { linkProps } from "../../state/links";
import { MissingStreams } from "../shared/data-warnings";
import { NoDeviceTimes } from "../shared/no-device-times";
import type { PageProps } from "../page-props";
import { Show } from "../shared/load-states";

const texts = t.flame;
const KINDS: Readonly<Record<string, string>> = texts.kinds;

type Levels = "all" | "operators" | "modules";

export function Flame({ selected, base }: PageProps) {
  const { by, levels, group, zoom } = state.value;
  const host = base.provenance.timeline === "none";
  const shown: Levels = levels === "operators" || levels === "modules" ? levels : "all";
  const options: Omit<Options["flame"], "step"> = {
    by: by === "host" || host ? "host" : "device",
    levels: shown,
    group: group === "class" ? "class" : "instance",
    ...(zoom !== null && { root: zoom }),
  };
  const resource = useView("flame", selected, options);
  const { run, rank, span, step } = selected.place;
  const loaded = useLatest(resource.loaded, `${run}/${rank}/${span}/${step}`);
  return (
    <div class="flame fill" aria-busy={loaded !== resource.loaded}>
      {host && <NoDeviceTimes overview={base} />}
      <Show resource={{ ...resource, loaded }}>
        {(result) => (
          <>
            {result.by === "device" && <MissingStreams streams={result.provenance.missing_streams} />}
            <Graph result={result} levels={shown} hostOnly={host} />
          </>
        )}
      </Show>
      {loaded.status === "failed" && zoom !== null && (
        <p class="state">
          <button type="button" data-testid="zoom-reset" onClick={() => go({ zoom: null })}>
            {texts.showAll}
          </button>
        </p>
      )}
    </div>
  );
}

function Graph({ result, levels, hostOnly }: { result: Result; levels: Levels; hostOnly: boolean }) {
  const { rows } = result;
  const { zoom, filter } = state.value;
  const [search, setSearch] = useState(filter ?? "");
  // The URL may change under us: Back, or a link from another page.
  useEffect(() => setSearch(filter ?? ""), [filter]);
  const [at, setAt] = useState<number | null>(null);
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const inferred = result.by === "device" && result.provenance.timeline === "inferred";
  const boxes = useMemo(() => rows.map((r) => boxOf(r, inferred)), [rows, inferred]);
  const names = splitNames(zoom);
  const zoomTo = (row: number): void => {
    // The first row is the one that is zoomed to: a click on it goes back.
    if (zoom !== null && row === 0) zoomOut(names);
    else go({ zoom: joinNames([...names.slice(0, -1), ...namesOf(rows, row)]) });
  };
  const matched = useMemo(() => matchedTime(rows, search), [rows, search]);
  return (
    <>
      <div class="toolbar">
        <Choices result={result} levels={levels} hostOnly={hostOnly} />
        <Search text={search} set={setSearch} />
        {search.trim() !== "" && (
          <span class="muted" data-testid="flame-matched" data-value={matched}>
            {texts.found(percent(result.total_ns ? matched / result.total_ns : 0))}
          </span>
        )}
        <span class="push" />
        <SaveButtons rows={rows} names={names} canvas={canvas} />
      </div>
      <Crumbs names={names} />
      {rows.length === 0 ? (
        <p class="state" data-testid="flame-empty">
          {texts.empty(result.by)}
        </p>
      ) : (
        <FlameGraph
          boxes={boxes}
          total={result.total_ns ?? 0}
          search={search}
          onLook={setAt}
          onZoom={zoomTo}
          onOut={() => zoomOut(names)}
          onCanvas={(c) => {
            canvas.current = c;
          }}
          label={texts.label(result.by, rows.length)}
        />
      )}
      <Details result={result} row={at === null ? null : (rows[at] ?? null)} inferred={inferred} />
    </>
  );
}

/** To the box around the one that fills the width. */
function zoomOut(names: readonly string[]): void {
  if (names.length > 0) go({ zoom: names.length > 1 ? joinNames(names.slice(0, -1)) : null });
}

function Choices({ result, levels, hostOnly }: { result: Result; levels: Levels; hostOnly: boolean }) {
  const { group } = state.value;
  return (
    <>
      <Segmented
        label={texts.time}
        value={result.by}
        onPick={(v) => go({ by: v === "host" ? v : null })}
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
        label={texts.show}
        value={levels}
        onPick={(v) => go({ levels: v === "all" ? null : v, zoom: null })}
        choices={[
          { value: "all", label: texts.everything, title: texts.everythingHelp(result.has_frames) },
          { value: "operators", ...texts.operators },
          { value: "modules", label: texts.modules, title: texts.modulesHelp(result.has_modules) },
        ]}
      />
      <Segmented
        label={texts.modules}
        value={group === "class" ? "class" : "instance"}
        onPick={(v) => go({ group: v === "class" ? v : null, zoom: null })}
        choices={[
          { value: "instance", label: texts.eachModule, disabled: !result.has_modules },
          { value: "class", ...texts.byClass, disabled: !result.has_modules },
        ]}
      />
    </>
  );
}

/** What is typed stands out at once; it is in the URL when it is complete. */
function Search({ text, set }: { text: string; set: (text: string) => void }) {
  return (
    <input
      type="search"
      data-filter
      data-testid="flame-search"
      value={text}
      placeholder={texts.find}
      aria-label={texts.findHelp}
      spellcheck={false}
      autocomplete="off"
      onInput={(e) => set(e.currentTarget.value)}
      onChange={() => go({ filter: text.trim() || null }, "replace")}
      onKeyDown={(e) => {
        if (e.key === "Escape") {
          set("");
          go({ filter: null }, "replace");
        }
      }}
    />
  );
}

interface SaveButtonsProps {
  rows: readonly FlameNode[];
  names: readonly string[];
  canvas: RefObject<HTMLCanvasElement | null>;
}

function SaveButtons({ rows, names, canvas }: SaveButtonsProps) {
  return (
    <>
      <button
        type="button"
        class="quiet"
        data-testid="collapsed"
        onClick={() => download("flame.txt", collapsed(rows, names), "text/plain")}
        title={texts.stacksHelp}
      >
        {texts.stacks}
      </button>
      <button
        type="button"
        class="quiet"
        data-testid="png"
        onClick={() => canvas.current && downloadPicture("flame.png", canvas.current)}
        title={t.png.save}
      >
        PNG
      </button>
    </>
  );
}

function Crumbs({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <nav class="crumbs" aria-label={texts.crumbs} data-testid="crumbs">
      <a {...linkProps({ zoom: null })} data-testid="zoom-reset">
        {texts.all}
      </a>
      {names.map((name, i) => (
        <span key={i}>
          {" "}
          ›{" "}
          {i === names.length - 1 ? (
            <b>{name}</b>
          ) : (
            <a {...linkProps({ zoom: joinNames(names.slice(0, i + 1)) })}>{name}</a>
          )}
        </span>
      ))}
    </nav>
  );
}

/** What the box under the pointer is; said aloud as well. */
function Details({ result, row, inferred }: { result: Result; row: FlameNode | null; inferred: boolean }) {
  if (!row) {
    return (
      <div class="flame-details muted" role="status" data-testid="flame-details">
        {texts.whole(result.by, duration(result.total_ns), result.nodes, result.nodes - result.rows.length)}
      </div>
    );
  }
  const share = result.total_ns ? row.total_ns / result.total_ns : 0;
  return (
    <div
      class="flame-details"
      role="status"
      data-testid="flame-details"
      data-value={row.total_ns}
      data-name={fullName(row)}
    >
      <i class={inferred ? "swatch inferred" : "swatch"} style={{ "--fill": `var(${colourOf(row.kind)})` }} />
      <b title={fullName(row)}>{row.name}</b> <span class="muted">{KINDS[row.kind] ?? row.kind}</span>{" "}
      {texts.times(
        <span title={exactDuration(row.total_ns)}>
          {duration(row.total_ns)}
          {inferred && ` ${boundOf(row.bound_ns, true)}`}
        </span>,
        percent(share),
        <span title={exactDuration(row.self_ns)}>{duration(row.self_ns)}</span>,
        row.calls,
      )}
      {row.merged > 0 && <span class="muted">{texts.merged(row.merged, duration(row.merged_ns))}</span>}
      {row.kind === "operator" && (
        <>
          {" "}
          ·{" "}
          <a {...linkProps({ view: "operators", filter: `name = ${quote(row.name)}` })}>{texts.toOperator}</a>
        </>
      )}
    </div>
  );
}

function colourOf(kind: string): string {
  switch (kind) {
    case "module":
      return "--accent";
    case "operator":
      return "--cpu";
    case "annotation":
      return "--annotation";
    case "frame":
    case "none":
      return "--other";
    default:
      return color(categoryOf(kind)).slice(4, -1);
  }
}

const HOST = new Set(["module", "operator", "annotation", "frame", "none"]);

function boxOf(row: FlameNode, inferred: boolean): FlameBox {
  const device = !HOST.has(row.kind);
  return {
    name: row.name,
    searched: searchedIn(row),
    colour: colourOf(row.kind),
    strong: device,
    hatched: inferred && device,
    parent: row.parent,
    value: row.total_ns,
  };
}

const searchedIn = (row: FlameNode): string => `${row.name} ${row.full_name ?? ""}`.toLowerCase();

/** From the first row down. */
function namesOf(rows: readonly FlameNode[], row: number): string[] {
  const names: string[] = [];
  for (let at: FlameNode | undefined = rows[row]; at; at = at.parent === null ? undefined : rows[at.parent])
    names.unshift(fullName(at));
  return names;
}

/** Time in boxes with the text; what is inside another such box counts once. */
function matchedTime(rows: readonly FlameNode[], search: string): number {
  const text = search.trim().toLowerCase();
  if (text === "") return 0;
  const inside: boolean[] = [];
  let sum = 0;
  rows.forEach((row, i) => {
    const around = row.parent !== null && (inside[row.parent] ?? false);
    const found = searchedIn(row).includes(text);
    inside[i] = around || found;
    if (found && !around) sum += row.total_ns;
  });
  return sum;
}

/** A line per stack: names from the outermost on, and the ns that are the last one's own. */
function collapsed(rows: readonly FlameNode[], above: readonly string[]): string {
  const lines: string[] = [];
  const paths: string[] = [];
  const plain = (name: string): string => name.replace(/[;\s]+/g, " ");
  const prefix = above.slice(0, -1).map(plain);
  rows.forEach((row, i) => {
    const path = [...(row.parent === null ? prefix : [paths[row.parent] ?? ""]), plain(fullName(row))].join(
      ";",
    );
    paths[i] = path;
    const own = row.self_ns + row.merged_ns;
    if (own > 0) lines.push(`${path} ${own}`);
  });
  return `${lines.join("\n")}\n`;
}
