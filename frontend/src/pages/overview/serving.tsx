// Where the recording has iterations of serving: their section, which comes with its first use.
import type { Overview } from "../../api/types";
import type { Selected } from "../../state/selection";
import { traceOf, useLatest, useView } from "../../state/use-result";
import { onDemand } from "../shared/on-demand";

const Section = onDemand(() => import("./serving-section").then((module) => module.ServingSection));

/** Nothing while it is read, and nothing of a recording without such iterations. */
export function Serving({ selected, base }: { selected: Selected; base: Overview }) {
  const latest = useLatest(useView("serving", selected, {}), traceOf(selected.place));
  const { loaded } = latest;
  if (loaded.status === "loading" || (loaded.status === "ready" && loaded.value.total_rows === 0))
    return null;
  return <Section latest={latest} base={base} />;
}
