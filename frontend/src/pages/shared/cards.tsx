// Cards: totals, the largest operators and kernels, facts of the trace.
import type { ComponentChildren } from "preact";
import type { Fact, Overview, Share } from "../../api/types";
import { type Category, categoryOf } from "../../lib/color";
import { quote } from "../../lib/filter";
import { count, duration, percent } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import { t } from "../../i18n";
import { Bars, type BarRow } from "../../widgets/charts/bars";
import { DataWarnings } from "./data-warnings";
import { linkProps } from "../../state/links";

const texts = t.cards;

type Length = keyof typeof texts.rows;

/** Total times of each kind of device activity: what others hide is in them. */
export function TotalsCard({ overview, step }: { overview: Overview; step: number | null }) {
  const { totals, provenance } = overview;
  const window = overview.account?.window_ns ?? 0;
  const row = (name: Length, category: Category): BarRow => ({
    key: `${name}_ns`,
    ...texts.rows[name],
    category,
    bound: totals[`${name}_bound_ns`],
    ns: totals[`${name}_ns`],
    inferred: provenance.timeline === "inferred",
    ...shareOf(totals[`${name}_ns`], window),
  });
  return (
    <section>
      <h2>
        {texts.totals} <small class="muted">{texts.totalsNote(step)}</small>
      </h2>
      {totals.span_ns === null ? (
        <p class="muted">{texts.noDeviceTimes}</p>
      ) : (
        <>
          <DataWarnings findings={provenance.warnings} figures={["totals"]} />
          <Bars
            testid="totals"
            rows={[
              row("compute", "kernel"),
              row("communication", "communication"),
              row("overlap", "communication"),
              row("memcpy", "memcpy"),
              row("memset", "memset"),
              ...(totals.unknown_ns ? [row("unknown", "unknown")] : []),
            ]}
          />
          <p class="muted small" data-testid="linked" data-value={totals.linked ?? ""}>
            {texts.linked(count(totals.linked), totals.unlinked ?? 0)}
          </p>
        </>
      )}
    </section>
  );
}

/** The bar is full at all of the window. What runs beyond its ends, as activities of a step may, has
 * a number and no share. */
function shareOf(ns: number | null, window: number): Pick<BarRow, "share" | "note"> {
  if (ns === null || window === 0) return { share: null };
  return ns > window ? { share: 1, note: "" } : { share: ns / window };
}

export function TopOperators({ overview }: { overview: Overview }) {
  const lost = overview.unlinked_device_ns;
  return (
    <Top title={texts.topOperators} view="operators" rows={overview.top_operators} overview={overview}>
      {lost !== null && lost > 0 && (
        <p class="muted small" data-testid="unlinked" data-value={lost}>
          {texts.unlinked(duration(lost))}
        </p>
      )}
    </Top>
  );
}

export function TopKernels({ overview }: { overview: Overview }) {
  if (overview.top_kernels.length === 0) return null;
  return <Top title={texts.topKernels} view="kernels" rows={overview.top_kernels} overview={overview} />;
}

interface TopProps {
  title: string;
  view: "operators" | "kernels";
  rows: readonly Share[];
  overview: Overview;
  children?: ComponentChildren;
}

function Top({ title, view, rows, overview, children }: TopProps) {
  const { timeline } = overview.provenance;
  // Bars in the scale of the largest, numbers as they are.
  const largest = Math.max(0, ...rows.map((r) => r.share));
  return (
    <section>
      <h2>
        {title}{" "}
        <small class="muted">
          {timeline === "none"
            ? view === "operators"
              ? texts.byHostSelf
              : texts.byHost
            : view === "operators"
              ? texts.byDeviceSelf
              : texts.byDevice}
        </small>
      </h2>
      {rows.length === 0 ? (
        <p class="muted">{texts.none}</p>
      ) : (
        <Bars
          testid={`top-${view}`}
          rows={rows.map((r) => {
            return {
              key: fullName(r),
              label: r.name,
              ns: r.total_ns,
              bound: r.bound_ns,
              bounded: r.bounded_share,
              share: largest > 0 ? r.share / largest : 0,
              title: texts.calls(fullName(r), r.calls),
              category: timeline === "none" ? "cpu" : categoryOf(r.kind),
              inferred: timeline === "inferred",
              note: percent(r.share),
              ...linkProps({ view, filter: `name = ${quote(fullName(r))}` }),
            };
          })}
        />
      )}
      {children}
    </section>
  );
}

export function Facts({ title, facts, testid }: { title: string; facts: readonly Fact[]; testid: string }) {
  return (
    <section>
      <h2>{title}</h2>
      {facts.length === 0 ? (
        <p class="muted">{texts.notTold}</p>
      ) : (
        <dl class="facts" data-testid={testid}>
          {facts.map((f) => (
            <div key={f.label} data-key={f.label}>
              <dt>{f.label}</dt>
              <dd>{f.value}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
