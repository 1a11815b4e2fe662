// How many steps a recording has, by what is known of them.
import type { Step, StepCounts } from "../../api/types";
import { stepNumber } from "../../state/selection";

export function countSteps(steps: readonly Step[]): StepCounts {
  const complete = steps.filter((s) => !s.incomplete && !s.primed).length;
  const incomplete = steps.filter((s) => s.incomplete).length;
  const numbered = steps.filter((s) => stepNumber(s.name) !== null).length;
  return { numbered, complete, incomplete, primed: steps.length - complete - incomplete };
}
