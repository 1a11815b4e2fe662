// What ranks that keep others waiting are called, and what it costs: the same words on every page.
import type { Culprit, Distributed } from "../../api/types";
import { duration } from "../../lib/format";
import { ranges } from "../../lib/ranges";
import { culprits as texts } from "../../i18n/culprits";

/** Fewer steps cannot tell a lasting difference from chance. */
const LEAST_STEPS = 3;
const MOST_RANGES = 8;

export function nameOf(one: Culprit): string {
  const ranks = listed(one.ranks);
  if (one.kind === "node" && one.host !== null) return texts.host(one.host, ranks);
  if (one.kind !== "missing" && one.group !== null) return texts.group(one.group, ranks);
  const name = texts.ranks(ranks, one.ranks.length);
  return one.host === null ? name : `${name} ${texts.onHost(one.host)}`;
}

/** How long the others wait for them in a step. */
export const costOf = ({ cost_ns: cost }: Culprit): string =>
  cost === null ? texts.noCost : texts.cost(duration(cost));

export function listed(ranks: readonly number[]): string {
  const all = ranges(ranks);
  const shown = all.slice(0, MOST_RANGES).join(", ");
  return all.length > MOST_RANGES ? texts.more(shown, all.length - MOST_RANGES) : shown;
}

/** Nothing found means something only if ranks met each other in enough steps: null if they did not. Of
 * one chosen step, the rows do not say how many there are. */
export function noneFound({ rows, least_cost_ns: least }: Distributed, ofOneStep: boolean): string | null {
  const met = rows.filter((row) => row.synchronizing_ns !== null);
  if (met.length < 2 || least === null) return null;
  const enough = ofOneStep || met.every((row) => row.steps >= LEAST_STEPS);
  return enough ? texts.none(duration(least)) : texts.fewSteps(LEAST_STEPS);
}
