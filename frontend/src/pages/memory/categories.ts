// Categories of memory: labels, colors, and the layers of the chart.
import type { CategoryPoint, MemoryCategory } from "../../api/types";
import { t } from "../../i18n";
import type { Layer, Point } from "../../widgets/charts/area-layout";

type Name = MemoryCategory["category"];

interface Look {
  label: string;
  fill: string;
  title: string;
}

/** In the chart's order, the lowest first: what stays is below what comes and goes. */
export const CATEGORIES: Readonly<Record<Name, Look>> = {
  parameters: { ...t.memoryCategories.parameters, fill: "var(--runtime)" },
  optimizer_state: { ...t.memoryCategories.optimizer_state, fill: "var(--memcpy)" },
  gradients: { ...t.memoryCategories.gradients, fill: "var(--kernel)" },
  activations: { ...t.memoryCategories.activations, fill: "var(--communication)" },
  inputs: { ...t.memoryCategories.inputs, fill: "var(--cpu)" },
  temporaries: { ...t.memoryCategories.temporaries, fill: "var(--dataloader)" },
  unknown: { ...t.memoryCategories.unknown, fill: "var(--other)" },
};

const NAMES = Object.keys(CATEGORIES) as Name[];

export const LAYERS: readonly Layer[] = NAMES.map((name) => CATEGORIES[name]);

/** The chart's points with a part per layer. */
export function layered(curve: readonly CategoryPoint[]): Point[] {
  return curve.map((p) => {
    const parts = NAMES.map((name) => p[`${name}_bytes`]);
    return { at: p.time_ns, value: parts.reduce((sum, part) => sum + part, 0), limit: null, parts };
  });
}
