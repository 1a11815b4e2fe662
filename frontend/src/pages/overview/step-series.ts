// What the bars of the steps are stacked of: classes of time, or categories without an account.
import type { Overview, Step } from "../../api/types";
import { CATEGORIES, color, DEVICE, LABELS } from "../../lib/color";
import { classColor, CLASS_NAMES } from "../../lib/class-color";
import { t } from "../../i18n";

export interface Series {
  key: string;
  label: string;
  help: string;
  fill: string;
  hatched: boolean;
  /** Null if it is not known. */
  ns: (step: Step) => number | null;
  bound: (step: Step) => number | null;
}

/** Those with time in any step, in the order of the colors. They sum to the step. */
export function stepSeries(all: Overview): Series[] {
  const series = all.account_steps.length > 0 ? ofClasses(all) : ofCategories(all);
  return series.filter(({ ns }) => all.steps.some((step) => (ns(step) ?? 0) > 0));
}

function ofClasses({ account, account_steps: rows }: Overview): Series[] {
  const known = new Map(account?.classes.map((c) => [c.name, c]));
  const of = new Map(
    rows.map((row) => [row.name, { row, ns: new Map(row.classes.map((c) => [c.name, c.ns])) }]),
  );
  return CLASS_NAMES.flatMap((name) => {
    const one = known.get(name);
    if (!one) return [];
    const ns = (step: Step): number => of.get(step.name)?.ns.get(name) ?? 0;
    return {
      key: name,
      label: one.label,
      help: one.meaning,
      fill: classColor(name),
      hatched: one.bound_ns !== 0,
      ns,
      // The bound is known of the sum over all classes of idle time only.
      bound: (step: Step) => (of.get(step.name)?.row.idle_bound_ns === 0 || ns(step) === 0 ? 0 : null),
    };
  });
}

/** Without device times, classes of time are unknown where a device was used. */
const ofCategories = (all: Overview): Series[] =>
  CATEGORIES.map((category) => ({
    key: category,
    label: LABELS[category],
    help: t.overview.part(LABELS[category]),
    fill: color(category),
    hatched: all.provenance.timeline === "inferred" && DEVICE.has(category),
    ns: (step: Step) => step[`${category}_ns`],
    bound: (step: Step) => step[`${category}_bound_ns`],
  }));
