// Where the recording has compiled code: its section, which comes with its first use.
import type { Overview } from "../../api/types";
import type { Selected } from "../../state/selection";
import { traceOf, useLatest, useView } from "../../state/use-result";
import { onDemand } from "../shared/on-demand";

const Section = onDemand(() => import("./compilation-section").then((module) => module.CompilationSection));

/** Nothing while it is read, and nothing of a recording without compiled code. */
export function Compilation({ selected, base }: { selected: Selected; base: Overview }) {
  const latest = useLatest(useView("compilation", selected, {}), traceOf(selected.place));
  const { loaded } = latest;
  if (loaded.status === "loading" || (loaded.status === "ready" && loaded.value.total_rows === 0))
    return null;
  return <Section latest={latest} base={base} />;
}
