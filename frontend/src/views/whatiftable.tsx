// The tables of the what-if page: what gains how much, the critical path by name, and each step.
import type { Gain, PathRow, PredictedStep, WhatIf as Result } from "../api";
import { color, type Category } from "../base/color";
import { go, state } from "../state";
import type { Column } from "../widgets/columns";
import { Segmented } from "../widgets/segmented";
import { Table } from "../widgets/table";

interface Cause {
  label: string;
  category: Category;
  /** Whether its times are inferred where the timeline is. */
  device: boolean;
  help: string;
}

export const CAUSES: Readonly<Record<string, Cause>> = {
  operator: { label: "Operators on the host", category: "cpu", device: false, help: "The host's own time in operators" },
  runtime: { label: "Runtime calls", category: "runtime", device: false, help: "Launches and other calls of the device's runtime" },
  host_code: { label: "Other host code", category: "other", device: false, help: "Python and whatever runs between operators" },
  data_loader: { label: "Data loading", category: "dataloader", device: false, help: "The next batch" },
  kernel: { label: "Kernels", category: "kernel", device: true, help: "Kernels and fills on the device" },
  copy: { label: "Copies", category: "memcpy", device: true, help: "Copies on the device" },
  communication: { label: "Communication", category: "communication", device: true, help: "Kernels of collectives" },
  launch_latency: { label: "Launch latency", category: "runtime", device: true, help: "From the launch to the start of what it launched" },
  pause: { label: "Pauses of the device", category: "other", device: true, help: "Between an activity and the next one, which was there already" },
  wait_return: { label: "Returns of waits", category: "runtime", device: true, help: "From the end of an activity to the return of the call that waited for it" },
  turn: { label: "Turns of threads", category: "other", device: false, help: "From the main thread to autograd's and back" },
  unexplained: { label: "Unexplained", category: "other", device: true, help: "Nothing recorded tells what was waited for" },
};

const WORDS: Readonly<Record<Gain["kind"], string>> = {
  operator: "Operator", kernel: "Kernel", module: "Module", category: "Kind of work", communication: "Communication", copies: "Copies",
  data_loader: "Data loading", launches: "Launches", synchronisation: "Waits for the device",
};

/** A change more; one of the same thing is replaced. */
export function withChange(changes: string | null, change: string): string {
  const what = change.slice(0, change.lastIndexOf("=") + 1);
  return [...(changes ?? "").split("\n").filter((line) => line && !line.startsWith(what)), change].join("\n");
}

const changeOf = (row: Gain, factor: number): string => `${row.name ? `${row.kind}:${row.name}` : row.kind}=${factor}`;

export function WhatIfTable({ result, gains }: { result: Result; gains: readonly Gain[] | null }) {
  const { sort, filter, group } = state.value;
  const inferred = result.provenance.timeline === "inferred";
  const shared = { sort, filter, inferred, onSort: (s: string | null) => go({ sort: s }), onFilter: (f: string | null) => go({ filter: f }, "replace") };
  const choice = (
    <Segmented label="Table" value={group ?? "gains"} onPick={(g) => go({ group: g === "gains" ? null : g, sort: null, filter: null })} choices={[
      { value: "gains", label: "What gains how much" }, { value: "path", label: "Critical path", title: "By operator, kernel and call" }, { value: "steps", label: "Steps" },
    ]} />
  );
  if (group === "path") return <Table {...shared} name="path" noun="name" columns={pathColumns(inferred)} rows={result.path} rowKey={(r) => `${r.cause} ${r.name}`} defaultSort="-path_ns">{choice}</Table>;
  if (group === "steps") return <Table {...shared} name="predicted-steps" noun="step" columns={STEPS} rows={result.steps} rowKey={(r) => r.name} defaultSort="">{choice}</Table>;
  if (gains === null) return <div class="toolbar">{choice}<span class="muted" data-testid="ranking">Replaying each of the operators and kernels on the critical path…</span></div>;
  return <Table {...shared} name="gains" noun="row" columns={GAINS} rows={gains} rowKey={(r) => `${r.kind} ${r.name}`} defaultSort="-free_gain_share">{choice}</Table>;
}

function Try({ row }: { row: Gain }) {
  const set = (factor: number): void => go({ changes: withChange(state.value.changes, changeOf(row, factor)) });
  return (
    <>
      {row.kind !== "synchronisation" && <button type="button" class="link" data-testid="try-half" title="Predict it twice as fast" onClick={() => set(0.5)}>2×</button>}
      <button type="button" class="link" data-testid="try-free" title="Predict it gone" onClick={() => set(0)}>free</button>
    </>
  );
}

const share = (row: Gain): number | null => (row.bound_ns === null ? null : row.free_gain_ns === 0 ? 0 : (row.bound_ns / row.free_gain_ns) * row.free_gain_share);

const GAINS: readonly Column<Gain>[] = [
  { key: "name", title: "What", kind: "text", width: 300, value: (r) => r.name || WORDS[r.kind] },
  { key: "kind", title: "Kind", kind: "text", width: 190, help: "2× and free add the change above.", value: (r) => WORDS[r.kind], cell: (r) => <span class="value try">{WORDS[r.kind]} <Try row={r} /></span> },
  { key: "half_gain_share", title: "Twice as fast", kind: "share", width: 136, help: "What the step gains if it takes half its time; of waits, without them.", value: (r) => r.half_gain_share, bar: () => "kernel" },
  { key: "free_gain_share", title: "Free", kind: "share", width: 136, help: "What the step gains without it.", value: (r) => r.free_gain_share, bar: () => "kernel", bound: share },
  { key: "half_gain_ns", title: "Twice as fast", kind: "time", width: 104, value: (r) => r.half_gain_ns },
  { key: "free_gain_ns", title: "Free", kind: "time", width: 84, value: (r) => r.free_gain_ns, bound: (r) => r.bound_ns },
  { key: "on_path_ns", title: "On the path", kind: "time", width: 96, help: "Its time on the critical path, with all that is inside: within a step no more can be gained.", value: (r) => r.on_path_ns },
];

/** Host times are measured, device times may be inferred: the mark in front says which. */
const pathColumns = (inferred: boolean): readonly Column<PathRow>[] => [
  { key: "name", title: "Name", kind: "text", width: 320, value: (r) => r.name || "–" },
  { key: "cause", title: "What", kind: "text", width: 190, value: (r) => CAUSES[r.cause]?.label ?? r.cause,
    cell: (r) => <span class="value"><i class={`swatch ${inferred && CAUSES[r.cause]?.device === true ? "inferred" : ""}`} style={{ "--fill": color(CAUSES[r.cause]?.category ?? "other") }} />{CAUSES[r.cause]?.label ?? r.cause}</span> },
  { key: "share", title: "Share", kind: "share", width: 84, additive: true, value: (r) => r.share },
  { key: "path_ns", title: "Time", kind: "time", width: 84, additive: true, help: "On the critical path, per step.", value: (r) => r.path_ns },
  { key: "pieces", title: "Pieces", kind: "count", width: 84, help: "Per step.", value: (r) => r.pieces, cell: (r) => <span class="value">{Number(r.pieces.toPrecision(3))}</span> },
];

const STEPS: readonly Column<PredictedStep>[] = [
  { key: "name", title: "Step", kind: "text", width: 200, value: (r) => r.name },
  { key: "measured_ns", title: "Measured", kind: "time", width: 104, value: (r) => r.measured_ns },
  { key: "predicted_ns", title: "Predicted", kind: "time", width: 104, value: (r) => r.predicted_ns, bound: (r) => r.bound_ns },
  { key: "gain_ns", title: "Gain", kind: "time", width: 104, value: (r) => r.gain_ns, bound: (r) => r.bound_ns },
  { key: "replayed_ns", title: "Replayed", kind: "time", width: 104, help: "Unchanged, from durations and known dependencies alone.", value: (r) => r.replayed_ns },
];
