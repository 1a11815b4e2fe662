import type { ComponentChildren } from "preact";
import type { DiffMemory } from "../../../api/types";

const verdicts: Record<DiffMemory["verdict"], string> = {
  more: "more", less: "less", within_noise: "within noise", same: "no change", unknown: "not certain",
};

const figures: Record<DiffMemory["name"], { title: string; help: string }> = {
  peak: { title: "Peak", help: "The most that is allocated during a step, on average." },
  peak_reserved: { title: "Peak reserved", help: "The most that the allocator holds during a step, on average." },
  at_end: { title: "At its end", help: "What is allocated when a step ends, on average." },
  growth: { title: "Growth per step", help: "What is allocated at the end of a step, less that of the step before, on average." },
  allocated: { title: "Allocated per step", help: "The sum of a step's allocations, on average." },
  allocations: { title: "Allocations per step", help: "How many there are, on average." },
  recording_peak: { title: "Peak of the recording", help: "The most that is allocated at any time; one value each, so that nothing tells chance apart." },
};

/** Memory of what is compared. */
export const diffmemory = {
  verdicts,
  figures,
  peakOf: (device: string) => `Peak of ${device}`,
  peakHelp: "The change of the most that is allocated during a step, on average.",
  onlyBase: "only the base tells it",
  onlyNow: "only what is compared tells it",
  peakNote: (base: string, now: string, verdict: string) => `${base} → ${now}, ${verdict}`,
  none: (option: ComponentChildren) => <>Neither trace has memory events: record with {option}.</>,
  figureNoun: { noun: "figure", nouns: "figures" },
  operatorNoun: { noun: "operator", nouns: "operators" },
  figure: "Figure",
  device: "Device",
  base: { title: "Base", help: "Of the base, per step." },
  now: { title: "Now", help: "The same of what is compared." },
  change: { title: "Change", help: "Now less base." },
  relative: { title: "Relative", help: "The change as a share of the base." },
  certainty: { title: "Certainty", help: "Whether the change is more than the spread of steps (99 %)." },
  noise: { title: "± Noise", help: "How far off the change may be by the spread over steps." },
  operator: { title: "Operator", help: "The innermost operator around an allocation that does not only allocate." },
  allocatedBase: { title: "Base", help: "What it allocates per step in the base." },
  baseCount: { title: "Base count", help: "Allocations per step of the base." },
  count: { title: "Count", help: "Allocations per step." },
};
