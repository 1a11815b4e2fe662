// Findings of the advice on the time axis: where their evidence lies.
import type { AdviceRow, AdviceTable } from "../../api/types";
import type { Camera } from "../../widgets/timeline/camera";

export interface Insight {
  rule: string;
  title: string;
  severity: AdviceRow["severity"];
  /** The event of the evidence. */
  name: string;
  at: number;
}

/** The events of all findings' evidence, by time; `shift` is added to their times. */
export function insightsOf({ rows }: AdviceTable, shift: number): Insight[] {
  return rows
    .flatMap(({ rule, title, severity, evidence }) =>
      evidence.map(({ name, start_ns }) => ({ rule, title, severity, name, at: start_ns + shift })),
    )
    .sort((a, b) => a.at - b.at);
}

/** Some that lie so close together that they are one mark. */
export interface Cluster {
  x: number;
  /** The most severe first. */
  insights: readonly Insight[];
}

const RANK: Readonly<Record<Insight["severity"], number>> = { high: 0, medium: 1, low: 2, note: 3 };
const CLOSE_PX = 18;

/** The marks of what is on the screen. */
export function clustered(insights: readonly Insight[], { start, stop }: Camera, width: number): Cluster[] {
  const scale = width / Math.max(1, stop - start);
  const found: { x: number; insights: Insight[] }[] = [];
  for (const one of insights) {
    const x = (one.at - start) * scale;
    if (x < 0 || x > width) continue;
    const last = found.at(-1);
    if (last && x - last.x < CLOSE_PX) last.insights.push(one);
    else found.push({ x, insights: [one] });
  }
  for (const { insights: some } of found) some.sort((a, b) => RANK[a.severity] - RANK[b.severity]);
  return found;
}
