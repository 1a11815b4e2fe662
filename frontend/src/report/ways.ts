// Where links lead in a report: to its own parts, as there are no pages.
import type { TimelineLevel } from "../api/types";
import type { Camera } from "../widgets/timeline/camera";
import { go, state, type State } from "../state/url";
import type { LinkProps } from "../state/links";
import type { ReportData } from "./data";
import { exampleAt } from "./levels";

/** The parts that links lead to. */
export const TIMELINE = "timeline";
export const ISSUES = "issues";

export const issueId = (rule: string): string => `issue-${rule}`;

/** Scrolls to a part of the report. */
export function jump(id: string): void {
  document.getElementById(id)?.scrollIntoView({ block: "start" });
}

/** A link within the report. */
export function within(id: string, act: () => void = () => jump(id)): LinkProps {
  const onClick = (event: MouseEvent): void => {
    event.preventDefault();
    act();
  };
  return { href: `#${id}`, onClick };
}

/** Shows a part of the recording on the report's timeline. */
export function showOnTimeline({ start, stop }: Camera): void {
  go({ range: `${Math.floor(start)}..${Math.ceil(stop)}` }, "replace");
  jump(TIMELINE);
}

/** The ways of all links in a report. Events are known by the examples of its findings. */
export function waysOf(data: ReportData): (changes: Partial<State>) => LinkProps | null {
  const { levels } = data.timeline;
  const starts = new Map(
    (data.trace?.advice?.rows ?? []).flatMap((row) =>
      row.evidence.map((one) => [`${one.table}:${one.row}`, one.start_ns] as const),
    ),
  );
  const hasIssues = Boolean(data.trace?.advice);
  const rank = data.trace?.place.rank;
  return (changes) => {
    // Another rank has a report of its own.
    if (changes.rank !== undefined && changes.rank !== rank) return null;
    if (changes.view === "timeline") return toTimeline(changes, levels, starts);
    if (changes.view === "advice" && hasIssues)
      return within(changes.selected ? issueId(changes.selected) : ISSUES);
    return null;
  };
}

function toTimeline(
  { range, item }: Partial<State>,
  levels: readonly TimelineLevel[],
  starts: ReadonlyMap<string, number>,
): LinkProps | null {
  if (levels.length === 0) return null;
  if (range) return within(TIMELINE, () => showRange(range));
  const start = item ? starts.get(item) : undefined;
  const camera = start === undefined ? null : exampleAt(levels, start);
  return camera && within(TIMELINE, () => showOnTimeline(camera));
}

function showRange(range: string): void {
  if (state.value.range !== range) go({ range }, "replace");
  jump(TIMELINE);
}
