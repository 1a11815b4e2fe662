// What memory is for: words, colours, and the layers of the chart.
import type { CategoryPoint, MemoryCategory } from "../api";
import type { Layer, Point } from "../widgets/areachart";

type Name = MemoryCategory["category"];

interface Look {
  label: string;
  fill: string;
  title: string;
}

/** In the chart's order, the lowest first: what stays is below what comes and goes. */
export const CATEGORIES: Readonly<Record<Name, Look>> = {
  parameters: { label: "Parameters", fill: "var(--runtime)", title: "Parameters and buffers of modules." },
  optimizer_state: { label: "Optimizer state", fill: "var(--memcpy)", title: "Allocated in the optimizer's step and alive after it." },
  gradients: { label: "Gradients", fill: "var(--kernel)", title: "Of parameters: allocated in the backward pass and alive after it." },
  activations: { label: "Activations", fill: "var(--communication)", title: "Allocated in the forward pass and alive after their operator." },
  inputs: { label: "Inputs", fill: "var(--cpu)", title: "From the data loader, or made before the forward pass begins." },
  temporaries: { label: "Temporaries", fill: "var(--dataloader)", title: "Gone with the operator, the backward pass or the optimizer's step that they were allocated in." },
  unknown: { label: "Unknown", fill: "var(--other)", title: "No rule says what this is for." },
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
