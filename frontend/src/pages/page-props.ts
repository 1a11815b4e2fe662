// The props of every page.
import type { Overview, Runs } from "../api/types";
import type { Selected } from "../state/selection";

export interface PageProps {
  selected: Selected;
  /** The overview over all steps of the selected trace. */
  base: Overview;
}

/** What a page that chooses another trace is given as well. */
export interface ChoosingProps extends PageProps {
  runs: Runs;
}
