// The memory page: one device over time, at its peak, by operator, allocation and step.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Finding, MemoryDevice, MemoryUse, MemoryWindow } from "../../api/types";
import { bytes, duration, percent, signedBytes } from "../../lib/format";
import { parseRange } from "../../lib/time-range";
import { traceOf, useLatest, useView } from "../../state/use-result";
import { recordedStep, stepNumber, type Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { AreaChart } from "../../widgets/charts/area-chart";
import { extent, type Point } from "../../widgets/charts/area-layout";
import { CodeBlock } from "../../widgets/controls/code-block";
import { KeyFigure } from "../../widgets/controls/key-figure";
import { Segmented } from "../../widgets/controls/segmented";
import { DataWarnings } from "../shared/data-warnings";
import { layered, LAYERS } from "./categories";
import { Ranks } from "./ranks";
import { Segments } from "./segments";
import { MemoryTables, type Life } from "./tables";
import type { PageProps } from "../page-props";
import { Show } from "../shared/load-states";
import "./memory.css";

const texts = t.memory;

/** The first answer has the largest allocations; the rest comes when it is asked for. */
const MOST = 1000;
const ALL = 100_000;

export function Memory({ selected, base }: PageProps) {
  const { device, range } = state.value;
  const part = parseRange(range);
  const [limit, setLimit] = useState(MOST);
  const asked = useView("memory", selected, {
    limit,
    ...(device !== null && { device }),
    ...(part && { start_ns: part.start, end_ns: part.end }),
  });
  const latest = useLatest(asked, traceOf(selected.place));
  return (
    <div class="memory fill" aria-busy={latest.isStale}>
      <DataWarnings findings={base.provenance.warnings} figures={["memory"]} />
      <Show resource={latest}>
        {(result) => <Page result={result} onAll={() => setLimit(ALL)} selected={selected} />}
      </Show>
      {latest.loaded.status === "failed" && (device !== null || range !== null) && (
        <p class="state">
          <button
            type="button"
            data-testid="default-memory"
            onClick={() => go({ device: null, range: null })}
          >
            {texts.showWhole}
          </button>
        </p>
      )}
    </div>
  );
}

interface Shown {
  result: MemoryUse;
  onAll: () => void;
  selected: Selected;
}

function Page({ result, onAll, selected }: Shown) {
  const { device, window, curve } = result;
  const { life, setLife } = useLife(result);
  const points = useMemo(
    () =>
      curve.map((p): Point => ({ at: p.time_ns, value: p.allocated_bytes, limit: p.reserved_bytes || null })),
    [curve],
  );
  const { by } = state.value;
  const stacked = by === "category" && result.category_curve.length > 0;
  const layers = useMemo(() => layered(result.category_curve), [result.category_curve]);
  const shown = result.devices.find((d) => d.device === device);
  if (!shown || !window)
    return (
      <>
        {result.notes.map((n) => (
          <NoEvents key={n.code} note={n} />
        ))}
      </>
    );
  const picked = recordedStep(state.value) !== null || state.value.range !== null;
  return (
    <>
      {result.notes.length > 0 && <Notes notes={result.notes} />}
      <Toolbar {...{ result, shown, window, stacked }} stackable={layers.length > 0} />
      <Figures device={shown} window={window} picked={picked} />
      <AreaChart
        points={stacked ? layers : points}
        layers={stacked ? LAYERS : []}
        names={namesOf(result, shown)}
        peak={peakOf(window)}
        fit={!stacked && state.value.scale === "fit"}
        band={life}
        marks={result.steps.map((s) => ({
          at: s.start_ns,
          label: result.steps.length > 12 ? String(stepNumber(s.name)) : texts.step(stepNumber(s.name)),
        }))}
        onSelect={(start, end) => go({ range: `${start}..${end}` })}
      />
      <Legend points={points} result={result} stacked={stacked} />
      <Ranks selected={selected} />
      {result.segments > 0 && <Segments selected={selected} device={device} />}
      <MemoryTables result={result} onAll={onAll} life={life} onLife={setLife} />
    </>
  );
}

const namesOf = ({ basis }: MemoryUse, { label }: MemoryDevice) =>
  basis === "change"
    ? { value: texts.change, limit: texts.reserved, title: texts.changeChart(label) }
    : { value: texts.allocated, limit: texts.reserved, title: texts.chart(label) };

const peakOf = (window: MemoryWindow) =>
  window.peak_bytes === null || window.peak_at_ns === null
    ? null
    : { at: window.peak_at_ns, value: window.peak_bytes };

interface ToolbarProps {
  result: MemoryUse;
  shown: MemoryDevice;
  window: MemoryWindow;
  /** Whether the chart has a layer per category, and whether it could. */
  stacked: boolean;
  stackable: boolean;
}

function Toolbar({ result, shown, window, stacked, stackable }: ToolbarProps) {
  const { range } = state.value;
  const step = recordedStep(state.value);
  return (
    <div class="toolbar">
      <Segmented
        label={texts.device}
        value={shown.device}
        onPick={(d) => go({ device: d, range: null, sort: null, filter: null })}
        choices={result.devices.map((d) => ({
          value: d.device,
          label: d.label,
          title: texts.deviceHelp(d.label, d.events),
        }))}
      />
      {step !== null && (
        <Chip testid="clear-step" clear={() => go({ step: null })}>
          {texts.step(step)}
        </Chip>
      )}
      {range !== null && (
        <Chip testid="clear-range" clear={() => go({ range: null })}>
          {texts.range(duration(window.start_ns), duration(window.end_ns))}
        </Chip>
      )}
      {step === null && range === null && <span class="muted">{texts.drag}</span>}
      <span class="push" />
      <ChartChoices stacked={stacked} stackable={stackable} />
    </div>
  );
}

function ChartChoices({ stacked, stackable }: Pick<ToolbarProps, "stacked" | "stackable">) {
  return (
    <>
      <Segmented
        label={texts.shown}
        value={stacked ? "category" : "total"}
        onPick={(b) => go({ by: b === "category" ? b : null })}
        choices={[
          { value: "total", label: texts.total },
          {
            value: "category",
            label: texts.byCategory,
            disabled: !stackable,
            title: !stackable ? texts.needsAddresses : texts.byCategoryHelp,
          },
        ]}
      />
      <Segmented
        label={texts.axis}
        value={!stacked && state.value.scale === "fit" ? "fit" : "zero"}
        onPick={(s) => go({ scale: s === "fit" ? s : null })}
        choices={[
          { value: "zero", label: texts.fromZero },
          {
            value: "fit",
            label: texts.fit,
            disabled: stacked,
            title: stacked ? texts.wholeFromZero : texts.fitHelp,
          },
        ]}
      />
    </>
  );
}

/** The life of the allocation that was chosen, as long as its row is in the table that is shown: not
 * with another tab, nor of another part, device or trace. */
function useLife({ device }: MemoryUse): { life: Life | null; setLife: (life: Life | null) => void } {
  const { run, rank, span, step, range, group } = state.value;
  const of = JSON.stringify([run, rank, span, step, range, device, group]);
  const [chosen, setChosen] = useState<{ of: string; life: Life } | null>(null);
  return { life: chosen?.of === of ? chosen.life : null, setLife: (life) => setChosen(life && { of, life }) };
}

function Chip({
  testid,
  clear,
  children,
}: {
  testid: string;
  clear: () => void;
  children: ComponentChildren;
}) {
  return (
    <button type="button" class="memory-chip" data-testid={testid} title={texts.showAll} onClick={clear}>
      {children} <span aria-hidden="true">×</span>
    </button>
  );
}

interface FiguresProps {
  device: MemoryDevice;
  window: MemoryWindow;
  /** Whether these are of a part of the recording. */
  picked: boolean;
}

function Figures({ device, window, picked }: FiguresProps) {
  return (
    <div class="figures-row">
      <HeldFigures {...{ device, window, picked }} />
      <KeyFigure
        name="allocated_bytes"
        label={texts.allocatedInAll}
        exact={window.allocated_bytes}
        unit="B"
        note={texts.events(window.events)}
        help={texts.allocatedInAllHelp}
      />
      <KeyFigure
        name="freed_bytes"
        label={texts.releasedInAll}
        exact={window.freed_bytes}
        unit="B"
        note={
          window.allocated_bytes === window.freed_bytes
            ? texts.asMuch
            : texts.inAll(signedBytes(window.allocated_bytes - window.freed_bytes))
        }
        help={texts.releasedInAllHelp}
      />
    </div>
  );
}

/** What was held: at the peak, at the start, at the end. */
function HeldFigures({ device, window, picked }: FiguresProps) {
  const peak = window.peak_bytes;
  const change =
    window.at_end_bytes === null || window.at_start_bytes === null
      ? null
      : window.at_end_bytes - window.at_start_bytes;
  return (
    <>
      {peak !== null && (
        <KeyFigure
          name="peak_bytes"
          label={picked ? texts.peakAllocatedHere : texts.peakAllocated}
          exact={peak}
          unit="B"
          note={peakNote(peak, window, device)}
          help={texts.peakAllocatedHelp}
        />
      )}
      {window.peak_reserved_bytes ? (
        <KeyFigure
          name="peak_reserved_bytes"
          label={picked ? texts.peakReservedHere : texts.peakReserved}
          exact={window.peak_reserved_bytes}
          unit="B"
          note={reservedNote(window)}
          help={texts.peakReservedHelp}
        />
      ) : null}
      {window.at_start_bytes !== null && (
        <KeyFigure
          name="at_start_bytes"
          label={picked ? texts.atStart : texts.beforeRecording}
          exact={window.at_start_bytes}
          unit="B"
          note={picked ? texts.ofPart : texts.parametersAndTheLike}
          help={texts.atStartHelp}
        />
      )}
      {window.at_end_bytes !== null && (
        <KeyFigure
          name="at_end_bytes"
          label={texts.atEnd}
          exact={window.at_end_bytes}
          unit="B"
          note={change === null ? "" : change === 0 ? texts.asAtStart : texts.sinceStart(signedBytes(change))}
          help={texts.atEndHelp}
        />
      )}
    </>
  );
}

function peakNote(
  peak: number,
  { peak_at_ns }: MemoryWindow,
  { capacity_bytes: capacity }: MemoryDevice,
): string {
  return capacity
    ? texts.peakNoteOf(duration(peak_at_ns), percent(peak / capacity), bytes(capacity))
    : texts.peakNote(duration(peak_at_ns));
}

function reservedNote({ peak_bytes, peak_reserved_bytes }: MemoryWindow): string {
  return peak_bytes === null || !peak_reserved_bytes
    ? ""
    : texts.peakReservedNote(percent(peak_bytes / peak_reserved_bytes));
}

function Legend({
  points,
  result,
  stacked,
}: {
  points: readonly Point[];
  result: MemoryUse;
  stacked: boolean;
}) {
  const reserved = points.flatMap((p) => p.limit ?? []);
  const above = state.value.scale === "fit" && reserved.every((r) => r > extent(points, true).high);
  return (
    <ul class="legend" aria-label={texts.legend}>
      {stacked &&
        LAYERS.map((layer) => (
          <li key={layer.label} title={layer.title}>
            <i class="swatch" style={{ "--fill": layer.fill }} />
            {layer.label}
          </li>
        ))}
      {!stacked && (
        <li>
          <i class="swatch" style={{ "--fill": "var(--kernel)" }} />
          {result.basis === "change" ? texts.changeSinceStart : texts.allocated}
        </li>
      )}
      {!stacked && reserved.length > 0 && (
        <li>
          <i class="swatch line" />
          {texts.reservedByAllocator}
          {above && <span class="muted"> {texts.aboveChart}</span>}
        </li>
      )}
      {result.steps.length > 0 && <li class="muted">│ {texts.startOfStep}</li>}
    </ul>
  );
}

function Notes({ notes }: { notes: readonly Finding[] }) {
  return (
    <aside class="notice">
      {notes.map((n) => (
        <p key={n.code} data-testid="memory-note" data-code={n.code}>
          <b>{n.message}</b> {n.hint}
        </p>
      ))}
    </aside>
  );
}

const CAPTURE = `from tb_privateuse1 import capture
with capture.profile(profile_memory=True, record_shapes=True, with_stack=True,
                     on_trace_ready=capture.tensorboard_trace_handler("./log")) as prof:
    ...  # ${t.timelineSource.yourSteps}`;

function NoEvents({ note }: { note: Finding }) {
  return (
    <section class="state" data-testid="no-memory" data-code={note.code}>
      <h2>{note.message}</h2>
      <p>{note.code === "no_memory_events" ? texts.linesRecord : note.hint}</p>
      {note.code === "no_memory_events" && <CodeBlock text={CAPTURE} />}
    </section>
  );
}
