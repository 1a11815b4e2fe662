// Cards: totals, facts of the trace.
import type { Fact, Overview } from "../../api/types";
import type { Category } from "../../lib/color";
import { count } from "../../lib/format";
import { t } from "../../i18n";
import { Bars, type BarRow } from "../../widgets/charts/bars";
import { DataWarnings } from "./data-warnings";

const texts = t.cards;

type Length = keyof typeof texts.rows;

/** Total times of each kind of device activity, what others hide included. Nothing where nothing
 * overlaps: then these are the classes of time. */
export function TotalsCard({ overview, step }: { overview: Overview; step: number | null }) {
  const { totals, provenance } = overview;
  if (!overlaps(totals)) return null;
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
      <DataWarnings findings={provenance.warnings} figures={["totals"]} />
      <Bars testid="totals" rows={ROWS.filter(([name]) => totals[`${name}_ns`]).map((one) => row(...one))} />
      <p class="muted small" data-testid="linked" data-value={totals.linked ?? ""}>
        {texts.linked(count(totals.linked), totals.unlinked ?? 0)}
      </p>
    </section>
  );
}

const ROWS: readonly (readonly [Length, Category])[] = [
  ["compute", "kernel"],
  ["communication", "communication"],
  ["overlap", "communication"],
  ["memcpy", "memcpy"],
  ["memset", "memset"],
  ["unknown", "unknown"],
];

/** Whether activities of different kinds run at once. */
function overlaps(totals: Overview["totals"]): boolean {
  const kinds = ROWS.filter(([name]) => name !== "overlap").map(([name]) => totals[`${name}_ns`] ?? 0);
  return kinds.reduce((sum, ns) => sum + ns, 0) > (totals.busy_ns ?? 0);
}

/** The bar is full at all of the window. What runs beyond its ends, as activities of a step may, has
 * a number and no share. */
function shareOf(ns: number | null, window: number): Pick<BarRow, "share" | "note"> {
  if (ns === null || window === 0) return { share: null };
  return ns > window ? { share: 1, note: "" } : { share: ns / window };
}

interface FactsProps {
  title: string;
  facts: readonly Fact[];
  testid: string;
  /** The level of its title. */
  head?: "h2" | "h3";
}

/** Nothing if there are no facts. */
export function Facts({ title, facts, testid, head: Head = "h2" }: FactsProps) {
  if (facts.length === 0) return null;
  return (
    <section>
      <Head>{title}</Head>
      <dl class="facts" data-testid={testid}>
        {facts.map((f) => (
          <div key={f.label} data-key={f.label}>
            <dt>{f.label}</dt>
            <dd>{f.value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
