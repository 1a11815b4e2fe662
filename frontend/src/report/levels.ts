// Which level of detail of the timeline shows a part of the recording best.
import type { TimelineLevel } from "../api/types";
import { within, type Camera } from "../widgets/timeline/camera";

const lengthOf = ({ start_ns: start, stop_ns: stop }: TimelineLevel): number => stop - start;

const extentOf = ({ start_ns: start, stop_ns: stop }: TimelineLevel): Camera => ({ start, stop });

/** Of the levels that have all that is shown the finest: one without merged ranges, else that with the
 * most rectangles per time. The first one has everything. */
export function levelFor(
  levels: readonly TimelineLevel[],
  camera: Camera,
  end: number,
): TimelineLevel | undefined {
  const shown = within(camera, { start: 0, stop: end });
  const covering = levels.filter(({ start_ns, stop_ns }) => start_ns <= shown.start && stop_ns >= shown.stop);
  return covering.reduce<TimelineLevel | undefined>(
    (best, one) => (best && fineness(best) >= fineness(one) ? best : one),
    levels[0],
  );
}

const fineness = (level: TimelineLevel): number =>
  level.merged === 0 ? Infinity : level.rectangles / Math.max(1, lengthOf(level));

/** The shortest level around a time that is an example, to show an event of which only that is known. */
export function exampleAt(levels: readonly TimelineLevel[], at: number): Camera | null {
  const around = levels.filter(
    ({ kind, start_ns, stop_ns }) => kind !== "whole" && start_ns <= at && stop_ns >= at,
  );
  const best = around.sort((a, b) => lengthOf(a) - lengthOf(b))[0];
  return best ? extentOf(best) : null;
}

/** The levels that a reader may want to go to, each part of the recording once. */
export function goals(
  levels: readonly TimelineLevel[],
): { label: string; kind: TimelineLevel["kind"]; camera: Camera }[] {
  const steps = levels.filter((one) => one.kind === "step");
  // Further levels of a step are parts of the first.
  return [...steps.slice(0, 1), ...levels.filter((one) => one.kind === "stretch")].map((one) => ({
    label: one.label,
    kind: one.kind,
    camera: extentOf(one),
  }));
}
