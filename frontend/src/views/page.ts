// What every page is given.
import type { Overview } from "../api";
import type { Selected } from "../place";

export interface PageProps {
  selected: Selected;
  /** The overview over all steps of the selected trace. */
  base: Overview;
}
