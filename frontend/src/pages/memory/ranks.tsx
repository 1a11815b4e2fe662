// Where the run has several ranks: their memory beside each other, which comes with its first use.
import { useState } from "preact/hooks";
import { t } from "../../i18n";
import { ofAllRanks, recordedStep, type Selected } from "../../state/selection";
import { useView } from "../../state/use-result";
import { onDemand } from "../shared/on-demand";

const Section = onDemand(() => import("./ranks-section").then((module) => module.RanksSection));

/** Nothing is asked before it is opened: all ranks are read for it. */
export function Ranks({ selected }: { selected: Selected }) {
  const [open, setOpen] = useState(false);
  if ((selected.run?.workers.length ?? 0) < 2) return null;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary data-testid="open-memory-ranks">{t.memory.allRanks}</summary>
      {open && <Asked selected={ofAllRanks(selected)} />}
    </details>
  );
}

function Asked({ selected }: { selected: Selected }) {
  const step = recordedStep(selected.place);
  return (
    <Section
      resource={useView("memory_ranks", selected, {})}
      step={step === null ? null : t.memory.step(step)}
    />
  );
}
