// How much a class of inferred time may be, at least and at most, and classes in groups.
import type { Account, ClassTime } from "../../api/types";
import { CLASS_NAMES } from "../../lib/class-color";
import { durationRange, percentRange } from "../../lib/format";
import { t } from "../../i18n";

export type Group = ClassTime["group"];

const GROUPS: readonly Group[] = ["device", "blocked", "host", "queue", "outside"];

export interface ClassGroup {
  group: Group;
  ns: number;
  classes: readonly ClassTime[];
}

/** The groups that have time, the device's first; classes are in the order of the colors. */
export function classGroups({ classes }: Pick<Account, "classes">): ClassGroup[] {
  return GROUPS.map((group) => {
    const own = classes.filter((c) => c.group === group && c.ns > 0);
    own.sort((a, b) => CLASS_NAMES.indexOf(a.name) - CLASS_NAMES.indexOf(b.name));
    return { group, ns: own.reduce((sum, c) => sum + c.ns, 0), classes: own };
  }).filter((g) => g.classes.length > 0);
}

/** The least and the greatest time that the bound allows in a window. */
function limits(ns: number, bound: number, window: number): [low: number, high: number] {
  return [Math.max(0, ns - bound), Math.min(window, ns + bound)];
}

/** `10.0 to 35.0 %` of the window; empty for what is measured. */
export function shareRange(ns: number, bound: number | null, window: number): string {
  if (bound === 0) return "";
  if (bound === null) return t.format.unknownRange;
  const [low, high] = limits(ns, bound, window);
  return percentRange(low / window, high / window);
}

/** `1.50 to 2.00 ms`; empty for what is measured. */
export function timeRange(ns: number, bound: number | null, window: number): string {
  if (bound === 0) return "";
  if (bound === null) return t.format.unknownRange;
  return durationRange(...limits(ns, bound, window));
}
