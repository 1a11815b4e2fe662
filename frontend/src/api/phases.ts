// Phases of serving that are a window.
export const PHASES = ["prefill", "decode", "mixed"] as const;
export type Phase = (typeof PHASES)[number];

/** The phase of a window; null of others. */
export const phaseOf = (window: string | null | undefined): Phase | null =>
  PHASES.find((one) => one === window) ?? null;
