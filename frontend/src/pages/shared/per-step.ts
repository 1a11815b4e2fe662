// Times of one step, if the recording has steps: else the analyzed time is no step's.
import type { Provenance } from "../../api/types";
import { duration } from "../../lib/format";
import { t } from "../../i18n";

export const hasSteps = ({ window }: Provenance): boolean => window === null || window.recorded_steps > 0;

/** `27.1 ms per step`, or `27.1 ms`. */
export const perStep = (ns: number | null, provenance: Provenance): string =>
  hasSteps(provenance) ? t.topFindings.perStep(duration(ns)) : duration(ns);
