// The overview's cards: totals, the largest operators and kernels, facts.
import type { Fact, Overview, Share } from "../api";
import { type Category, categoryOf } from "../base/color";
import { quote } from "../base/filter";
import { count, percent } from "../base/format";
import { Bars, type BarRow } from "../widgets/bars";
import { Doubts } from "./doubts";
import { linkProps } from "./link";

type Length = "span" | "busy" | "idle" | "compute" | "communication" | "overlap" | "memcpy" | "memset";

/** Where the device's time goes; the lines of a group sum as their notes say. */
export function TotalsCard({ overview, step }: { overview: Overview; step: number | null }) {
  const { totals: t, provenance } = overview;
  const row = (name: Length, label: string, category: Category, title: string): BarRow => ({
    key: `${name}_ns`, label, title, category, bound: t[`${name}_bound_ns`], ns: t[`${name}_ns`], inferred: provenance.timeline === "inferred",
    share: t[`${name}_ns`] === null || !t.span_ns ? null : (t[`${name}_ns`] ?? 0) / t.span_ns,
  });
  return (
    <section>
      <h2>Device totals <small class="muted">{step === null ? "of the recording" : `of step ${step}`}, as shares of the span</small></h2>
      {t.span_ns === null ? <p class="muted">No device times.</p> : (
        <>
          <Doubts findings={provenance.warnings} figures={["totals"]} />
          <Bars testid="totals" rows={[
            row("span", "Span", "other", "From the first device activity's start to the last one's end."),
            row("busy", "Busy", "kernel", "At least one activity ran."),
            row("idle", "Idle", "other", "Span less busy."),
            row("compute", "Compute", "kernel", "At least one kernel ran that is not communication."),
            row("communication", "Communication", "communication", "At least one communication kernel ran."),
            row("overlap", "Overlap", "communication", "Compute and communication at once."),
            row("memcpy", "Memcpy", "memcpy", "At least one copy ran."),
            row("memset", "Memset", "memset", "At least one fill ran."),
          ]} />
          <p class="muted small" data-testid="linked" data-value={t.linked ?? ""}>
            {count(t.linked)} activities are linked to the operator that launched them{t.unlinked ? `, ${count(t.unlinked)} are not` : ""}.
          </p>
        </>
      )}
    </section>
  );
}

export function TopOperators({ overview }: { overview: Overview }) {
  return <Top title="Top operators" view="operators" rows={overview.top_operators} overview={overview} />;
}

export function TopKernels({ overview }: { overview: Overview }) {
  if (overview.top_kernels.length === 0) return null;
  return <Top title="Top kernels" view="kernels" rows={overview.top_kernels} overview={overview} />;
}

interface TopProps {
  title: string;
  view: "operators" | "kernels";
  rows: readonly Share[];
  overview: Overview;
}

function Top({ title, view, rows, overview }: TopProps) {
  const { timeline } = overview.provenance;
  // Bars in the scale of the largest, numbers as they are.
  const largest = Math.max(0, ...rows.map((r) => r.share));
  return (
    <section>
      <h2>{title} <small class="muted">by {timeline === "none" ? "host" : "device"} {view === "operators" && "self "}time</small></h2>
      {rows.length === 0 ? <p class="muted">None.</p> : (
        <Bars testid={`top-${view}`} rows={rows.map((r) => {
          return {
            key: r.name, label: r.name, ns: r.total_ns, bound: r.bound_ns, bounded: r.bounded_share, share: largest > 0 ? r.share / largest : 0, title: `${r.name}\n${count(r.calls)} calls`,
            category: timeline === "none" ? "cpu" : categoryOf(r.kind), inferred: timeline === "inferred",
            note: percent(r.share), ...linkProps({ view, filter: `name = ${quote(r.name)}` }),
          };
        })} />
      )}
    </section>
  );
}

export function Facts({ title, facts, testid }: { title: string; facts: readonly Fact[]; testid: string }) {
  return (
    <section>
      <h2>{title}</h2>
      {facts.length === 0 ? <p class="muted">The trace does not tell.</p> : (
        <dl class="facts" data-testid={testid}>
          {facts.map((f) => <div key={f.label} data-key={f.label}><dt>{f.label}</dt><dd>{f.value}</dd></div>)}
        </dl>
      )}
    </section>
  );
}
