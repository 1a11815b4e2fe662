// How long the calls of one name take, and where one of them lies among them.
import { useMemo } from "preact/hooks";
import type { Instances } from "../../../api/types";
import { Histogram } from "../../../widgets/charts/histogram";
import { t } from "../../../i18n";

interface DurationsProps {
  found: Instances;
  name: string;
  fill: string;
  /** The duration to point out. */
  mark: number | null;
}

export function Durations({ found, name, fill, mark }: DurationsProps) {
  const bins = useMemo(
    () => found.histogram.map((b) => ({ low: b.low_ns, high: b.high_ns, count: b.calls })),
    [found],
  );
  return (
    <Histogram
      name="durations"
      title={t.instancesPanel.durationsOf(name)}
      bins={bins}
      fill={fill}
      mark={mark}
    />
  );
}
