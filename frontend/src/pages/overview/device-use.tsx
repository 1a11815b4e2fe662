// The share of the device's peak that the steps use, and their samples and tokens per second.
import type { Overview } from "../../api/types";
import { operations, percent, percentLimits, significant } from "../../lib/format";
import { t } from "../../i18n";
import { ModeledNote } from "../shared/work";

const texts = t.deviceUse;

interface DeviceUseProps {
  now: Overview;
  step: number | null;
}

/** Nothing where neither the device's work nor a batch is known; the roofline's page says why. */
export function DeviceUse({ now, step }: DeviceUseProps) {
  const { use } = now;
  // Iterations that repeat are steps, too.
  const hasSteps = now.step_counts.numbered > 0 || now.average_step_ns !== null;
  if ((use.mfu ?? use.product_flops ?? use.samples_per_s ?? use.tokens_per_s) === null) return null;
  return (
    <section data-testid="device-use">
      <h2>
        {use.mfu === null && use.product_flops === null ? texts.throughput : texts.title}{" "}
        <small class="muted">{hasSteps ? texts.note(step) : texts.noSteps}</small>
      </h2>
      <dl class="facts">
        {use.mfu !== null && <Share name="mfu" use={use} />}
        {use.hfu !== use.mfu && <Share name="hfu" use={use} />}
        {use.product_flops !== null && (
          <Fact
            name="product_flops"
            exact={use.product_flops}
            value={operations(use.product_flops)}
            label={hasSteps ? undefined : texts.allFlops}
          />
        )}
        <PerSecond name="samples_per_s" use={use} />
        <PerSecond name="tokens_per_s" use={use} />
      </dl>
      {use.mfu === null && use.use_missing !== null && now.provenance.timeline !== "none" && (
        <Reason text={use.use_missing} />
      )}
      {now.modeled && (
        <p class="small">
          <ModeledNote modeled={now.modeled} />
        </p>
      )}
    </section>
  );
}

const Reason = ({ text }: { text: string }) => (
  <p class="muted small" data-testid="use-missing">
    {text}
  </p>
);

type Use = Overview["use"];

function Share({ name, use }: { name: "mfu" | "hfu"; use: Use }) {
  const low = use[`${name}_low`];
  const high = use[`${name}_high`];
  const range = low === high ? "" : percentLimits(low, high);
  return <Fact name={name} exact={use[name]} value={percent(use[name])} range={range} />;
}

function PerSecond({ name, use }: { name: "samples_per_s" | "tokens_per_s"; use: Use }) {
  const value = use[name];
  if (value === null) return null;
  const low = use[`${name}_low`];
  const high = use[`${name}_high`];
  const range =
    low === null || high === null || low === high
      ? ""
      : `(${t.format.range(significant(low), significant(high))})`;
  return <Fact name={name} exact={value} value={significant(value)} range={range} />;
}

interface FactProps {
  name: keyof typeof texts.rows;
  exact: number | null;
  value: string;
  range?: string;
  label?: string | undefined;
}

function Fact({ name, exact, value, range = "", label = texts.rows[name].label }: FactProps) {
  const { help } = texts.rows[name];
  return (
    <div data-key={name} data-value={exact ?? ""} title={help}>
      <dt>{label}</dt>
      <dd>
        {value} {range && <small class="muted">{range}</small>}
      </dd>
    </div>
  );
}
