// The modules page: the tree of modules, or of annotations if no modules were recorded.
import { useMemo } from "preact/hooks";
import type { ModuleRow, Modules as Result } from "../../api/types";
import { count, duration, exactDuration, percent } from "../../lib/format";
import { joinNames } from "../../lib/name-path";
import { useLatest, useView } from "../../state/use-result";
import { go, state } from "../../state/url";
import { tableInUrl } from "../../state/table-in-url";
import { t } from "../../i18n";
import { CodeBlock } from "../../widgets/controls/code-block";
import { field, type Column } from "../../widgets/table/columns";
import { Segmented } from "../../widgets/controls/segmented";
import { Inspector } from "../../widgets/inspector/inspector";
import { Table } from "../../widgets/table/table";
import { useOpenRows } from "../../widgets/table/use-open-rows";
import { ToggleAllButton, TreeToggle } from "../../widgets/table/tree-toggle";
import { linkProps } from "../../state/links";
import { MissingStreams } from "../shared/data-warnings";
import { NoDeviceTimes } from "../shared/no-device-times";
import { ModeledNote, workColumns } from "../shared/work";
import { RowFacts } from "../shared/inspector/row-facts";
import { TryIt } from "../shared/try-it";
import type { Selected } from "../../state/selection";
import type { PageProps } from "../page-props";
import { Show } from "../shared/load-states";

const texts = t.modules;
const heads = texts.columns;

type Group = "instance" | "class";

export function Modules({ selected, base }: PageProps) {
  const group: Group = state.value.group === "instance" ? "instance" : "class";
  const { run, rank, span } = selected.place;
  // From step to step what is open stays open.
  const latest = useLatest(useView("modules", selected, { group }), JSON.stringify([run, rank, span, group]));
  return (
    <div class="fill" aria-busy={latest.isStale}>
      <Show resource={latest}>
        {(result) =>
          result.source === "none" ? (
            <NoModules result={result} />
          ) : (
            <>
              {base.provenance.timeline === "none" && <NoDeviceTimes overview={base} />}
              <MissingStreams streams={result.provenance.missing_streams} />
              {result.source === "annotations" && <Annotations result={result} />}
              <ModuleTree key={group} result={result} group={group} place={selected} />
            </>
          )
        }
      </Show>
    </div>
  );
}

/** Modules of this depth and above are open at first, and classes of any, as many as a page shows. */
const OPEN_DEPTH = 2;
const OPEN_ROWS = 60;

function ModuleTree({ result, group, place }: { result: Result; group: Group; place: Selected }) {
  const { rows } = result;
  const { tree, setAll } = useOpenRows(rows, pathOf, () => openAtFirst(rows, group, state.value.selected));
  const turn = tree.setOpen;
  const columns = useMemo(() => columnsOf(result, { places: placesOf(result.rows), turn }), [result, turn]);
  const { selected } = state.value;
  const device = result.device_ns !== null;
  const words = result.source === "modules" ? texts.module : texts.annotation;
  const opened = selected === null ? undefined : rows.find((r) => r.path === selected);
  return (
    <>
      <Table
        name="modules"
        {...words}
        columns={columns}
        rows={rows}
        rowKey={pathOf}
        tree={{ ...tree, path: pathOf }}
        {...tableInUrl()}
        defaultSort={device ? "-share" : "-host_total_ns"}
        selected={selected}
        inferred={result.provenance.timeline === "inferred"}
        onOpen={(r) => go({ selected: r.path === selected ? null : r.path }, "replace")}
      >
        {result.source === "modules" && (
          <Segmented
            label={texts.rows}
            value={group}
            onPick={(g) => go({ group: g === "class" ? null : g, selected: null })}
            choices={[
              { value: "class", label: texts.classes, title: texts.classesHelp },
              { value: "instance", label: texts.modules, title: texts.modulesHelp },
            ]}
          />
        )}
        <span class="segmented">
          <ToggleAllButton
            label={texts.expand}
            title={texts.expandHelp}
            testid="open-all"
            onClick={() => setAll(new Set(rows.map((r) => r.path)))}
          />
          <ToggleAllButton
            label={texts.collapse}
            title={texts.collapseHelp}
            testid="close-all"
            onClick={() => setAll(new Set())}
          />
        </span>
        <Outside result={result} words={words} />
        <ModeledNote modeled={result.modeled} />
      </Table>
      {opened && <OpenModule row={opened} {...{ result, columns, place, noun: words.noun }} />}
    </>
  );
}

interface OpenModuleProps {
  row: ModuleRow;
  result: Result;
  columns: readonly Column<ModuleRow>[];
  place: Selected;
  noun: string;
}

/** The inspector of a row: its figures, and the step without it. */
function OpenModule({ row, result, columns, place, noun }: OpenModuleProps) {
  return (
    <Inspector
      testid="module"
      label={row.path}
      kind={noun}
      covered={state.value.event !== null}
      close={() => go({ selected: null }, "replace")}
    >
      <h2 class="wrap">{row.name}</h2>
      <p class="wrap muted small full">{row.path}</p>
      {result.source === "modules" && (
        <p class="ways">
          <TryIt selected={place} change={`module:${row.name}=0`} label={t.tryIt.without} />
        </p>
      )}
      <RowFacts row={row} columns={columns} without={["name", "calls"]} />
    </Inspector>
  );
}

interface OutsideProps {
  result: Result;
  words: { noun: string; nouns: string };
}

/** Device time that no row has. */
function Outside({ result: { outside_device_ns: outside, device_ns: all }, words }: OutsideProps) {
  if (outside === null || outside <= 0 || all === null) return null;
  return (
    <span
      class="muted"
      data-testid="outside"
      data-value={outside}
      title={texts.outsideHelp(words.noun, exactDuration(outside))}
    >
      {texts.outside(duration(outside), percent(outside / all), words.nouns)}
    </span>
  );
}

const pathOf = (row: ModuleRow): string => row.path;

function openAtFirst(rows: readonly ModuleRow[], group: Group, selected: string | null): Set<string> {
  const open = new Set<string>();
  const deepest = group === "class" ? Math.max(0, ...rows.map((r) => r.depth)) : OPEN_DEPTH;
  for (let depth = 0; depth < deepest; depth += 1) {
    if (rows.filter((r) => r.depth <= depth + 1).length > OPEN_ROWS) break;
    for (const row of rows) if (row.depth === depth) open.add(row.path);
  }
  let at = rows.find((r) => r.path === selected)?.parent ?? null;
  while (at !== null) {
    const row: ModuleRow | undefined = rows[at];
    if (!row) break;
    open.add(row.path);
    at = row.parent;
  }
  return open;
}

/** Where rows are: the names from the outermost on. */
function placesOf(rows: readonly ModuleRow[]): Map<ModuleRow, readonly string[]> {
  const names: (readonly string[])[] = [];
  for (const row of rows) names.push([...(row.parent === null ? [] : (names[row.parent] ?? [])), row.name]);
  return new Map(rows.map((row, i) => [row, names[i] ?? []]));
}

interface Handles {
  places: ReadonlyMap<ModuleRow, readonly string[]>;
  turn: (row: ModuleRow, open: boolean) => void;
}

/** The bound of both passes with all inside: none of its parts is farther off. */
const ofAll = (row: ModuleRow): number | null => row.device_bound_ns;

function columnsOf(result: Result, handles: Handles): Column<ModuleRow>[] {
  const device = result.device_ns !== null;
  const trains = result.rows.some((r) => r.backward_host_ns > 0);
  const all = result.device_ns || 1;
  const columns: (Column<ModuleRow> | false)[] = [
    field("name", result.source === "modules" ? heads.module : heads.annotation, "text", 300, {
      cell: (r) => <Name row={r} handles={handles} />,
    }),
    field("share", device ? heads.deviceShare : heads.hostShare, "share", 132, {
      bar: () => (device ? "kernel" : "cpu"),
      ...(device && { help: trains ? texts.shareOfBoth : texts.share }),
      bound: (r) => (!device ? 0 : r.device_bound_ns === null ? null : r.device_bound_ns / all),
    }),
    device &&
      field("device_total_ns", heads.deviceTotal, "time", 98, {
        help: trains ? texts.deviceTotalForward : texts.deviceTotal,
        bound: ofAll,
      }),
    device && field("device_self_ns", heads.deviceSelf, "time", 92, { additive: true, bound: ofAll }),
    device && trains && field("backward_device_ns", heads.backwardDevice, "time", 92, { bound: ofAll }),
    field("host_total_ns", heads.hostTotal, "time", 88),
    field("host_self_ns", heads.hostSelf, "time", 88, { additive: true }),
    trains && field("backward_host_ns", heads.backwardHost, "time", 112),
    field("calls", heads.calls, "count", 68, {
      cell: (r) => (
        <a
          class="value"
          data-testid="module-timeline"
          {...linkProps({
            view: "timeline",
            find: result.source === "modules" ? `nn.Module: ${r.name}` : r.name,
          })}
          title={texts.toTimeline}
        >
          {count(r.calls)}
        </a>
      ),
    }),
    device && field("kernels", heads.kernels, "count", 76),
    ...workColumns(result.rows, false),
  ];
  return columns.filter((c) => c !== false);
}

function Name({ row, handles }: { row: ModuleRow; handles: Handles }) {
  return (
    <span class="value treename" style={{ paddingLeft: `${Math.min(row.depth, 16) * 14}px` }}>
      <TreeToggle labels={texts} name={row.name} onTurn={(open) => handles.turn(row, open)} />
      <a
        {...linkProps({
          view: "flame",
          levels: "modules",
          group: state.value.group === "instance" ? null : "class",
          zoom: joinNames(handles.places.get(row) ?? []),
        })}
        title={texts.toFlame(row.path)}
      >
        {row.name}
      </a>
      {row.instances > 1 && <span class="muted"> × {count(row.instances)}</span>}
    </span>
  );
}

function Annotations({ result }: { result: Result }) {
  return (
    <aside class="notice" data-kind="host_only" data-testid="annotations">
      <p>
        {texts.annotations()} {!result.stacks && texts.withStack()}
      </p>
    </aside>
  );
}

const CAPTURE = `from tb_privateuse1 import capture
with capture.profile(with_stack=True,   # ${texts.frames}
                     on_trace_ready=capture.tensorboard_trace_handler("./log")) as prof:
    ...  # ${t.timelineSource.yourSteps}`;

function NoModules({ result }: { result: Result }) {
  return (
    <section class="state" data-testid="no-modules" data-stacks={result.stacks}>
      <h2>{texts.noModules}</h2>
      {result.stacks ? (
        <p>
          {texts.noneCalled((flame) => (
            <a {...linkProps({ view: "flame" })}>{flame}</a>
          ))}
        </p>
      ) : (
        <>
          <p>{texts.linesDo}</p>
          <CodeBlock text={CAPTURE} />
          <p class="muted">{texts.rangesToo()}</p>
        </>
      )}
    </section>
  );
}
