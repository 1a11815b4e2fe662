// The place of a report's trace, as pages have a selected one.
import type { ReportPlace } from "../api/types";
import type { Selected } from "../state/selection";

export const placeSelected = ({ run, rank, span }: ReportPlace): Selected => ({
  place: { run, rank, span, step: null },
  run: null,
  worker: null,
  span: null,
  stamp: "",
});
