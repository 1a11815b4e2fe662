// "Try it": a change replayed in place, with the step that it predicts, its gain and their range.
import { useState } from "preact/hooks";
import { duration, exactDuration, percent, percentLimits } from "../../lib/format";
import { linkProps } from "../../state/links";
import type { Selected } from "../../state/selection";
import { useView } from "../../state/use-result";
import { t } from "../../i18n";
import { perStep } from "./per-step";
import "./try-it.css";

const texts = t.tryIt;

interface TryItProps {
  selected: Selected;
  /** As in the what-if: `class:input=0`. */
  change: string;
  /** What is done: `Try it` by default. */
  label?: string;
}

export function TryIt({ selected, change, label = texts.try }: TryItProps) {
  const [tried, setTried] = useState<string | null>(null);
  return (
    <span class="try-it" data-testid="try-it" data-change={change}>
      {tried === change ? (
        <Answer selected={selected} change={change} />
      ) : (
        <button type="button" title={texts.help(change)} data-testid="try" onClick={() => setTried(change)}>
          {label}
        </button>
      )}
    </span>
  );
}

function Answer({ selected, change }: Omit<TryItProps, "label">) {
  const { loaded, retry } = useView("whatif", selected, { changes: change, ranking: false });
  if (loaded.status === "failed")
    return (
      <span role="alert" data-testid="tried" data-value="">
        {loaded.failure.message} <span class="muted">{loaded.failure.hint}</span>{" "}
        <button type="button" class="link" onClick={retry}>
          {texts.again}
        </button>
      </span>
    );
  if (loaded.status !== "ready")
    return (
      <span class="muted" role="status">
        {texts.replaying}
      </span>
    );
  const { measured_ns, net_ns, gain_ns, gain_share, gain_low_ns, gain_high_ns, provenance } = loaded.value;
  // A gain is a share of the time without the profiler's own: so are the times beside it.
  const before = net_ns ?? measured_ns;
  if (before === null || gain_ns === null)
    return (
      <span class="muted" role="status" data-testid="tried" data-value="">
        {texts.unknown}
      </span>
    );
  const of = (ns: number | null): number | null =>
    ns === null || net_ns === null ? null : Math.min(ns / net_ns, 1);
  return (
    <span role="status" data-testid="tried" data-value={gain_ns}>
      <span title={`${exactDuration(before)} → ${exactDuration(before - gain_ns)}`}>
        {texts.step(duration(before), perStep(before - gain_ns, provenance))}
      </span>{" "}
      <b>{texts.gain(percent(gain_share))}</b>{" "}
      <span class="muted">{percentLimits(of(gain_low_ns), of(gain_high_ns))}</span>{" "}
      {measured_ns !== null && before < measured_ns && (
        <span class="muted" title={texts.netHelp(duration(measured_ns))}>
          {texts.net}
        </span>
      )}{" "}
      <a {...linkProps({ view: "whatif", changes: change })} data-testid="try-more">
        {texts.more}
      </a>
    </span>
  );
}
