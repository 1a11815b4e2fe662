// The choices of the selectors for run, rank, span and window.
import type { Overview, Runs } from "../../api/types";
import { bytes, dateTime, duration } from "../../lib/format";
import { stepNumber, type Selected } from "../../state/selection";
import { PHASES } from "../../api/phases";
import { t } from "../../i18n";
import type { Choice } from "../../widgets/controls/picker";

export function runChoices(runs: Runs): Choice[] {
  return runs.runs.map((r) => ({
    value: r.run,
    label: r.run,
    note: t.selectorChoices.ranks(r.workers.length),
  }));
}

export function rankChoices({ run }: Selected): Choice[] {
  return [...(run?.workers ?? [])]
    .sort((a, b) => a.rank - b.rank)
    .map((w) => ({
      value: w.rank,
      label: String(w.rank),
      note: w.worker,
    }));
}

export function spanChoices(worker: Selected["worker"]): Choice[] {
  return [...(worker?.spans ?? [])]
    .sort((a, b) => b.span - a.span)
    .map((s) => ({
      value: s.span,
      label: String(s.span),
      note: `${s.modified_ns === null ? "" : `${dateTime(s.modified_ns)}, `}${bytes(s.bytes)}`,
    }));
}

/** A step that takes this much longer than the median stands out. */
const SLOW = 1.2;

/** The steady part, everything, and each step. `asked` is what the overview is of. */
export function windowChoices({ steps, spread, provenance }: Overview, asked: string | null): Choice[] {
  const { window } = provenance;
  const numbered = steps.flatMap((s) => {
    const number = stepNumber(s.name);
    return number === null ? [] : [{ ...s, number }];
  });
  const longest = Math.max(1, ...numbered.map((s) => s.duration_ns));
  return [
    { value: null, label: asked === null && window ? window.text : t.selectorChoices.steady },
    {
      value: "all",
      label: t.selectorChoices.all,
      note: numbered.length ? String(numbered.length) : t.selectorChoices.noSteps,
    },
    // In a phase the steps are the iterations of all phases.
    ...PHASES.filter((phase) => steps.some((s) => s.name.startsWith(`${phase}#`))).map(
      (phase): Choice => ({ value: phase, label: asked === phase && window ? window.text : phase }),
    ),
    ...numbered.map(
      (s): Choice => ({
        value: s.number,
        label: String(s.number),
        bar: s.duration_ns / longest,
        slow: spread !== null && numbered.length > 1 && s.duration_ns > SLOW * spread.median_ns,
        note: s.incomplete ? t.selectorChoices.incomplete(duration(s.duration_ns)) : duration(s.duration_ns),
      }),
    ),
  ];
}
