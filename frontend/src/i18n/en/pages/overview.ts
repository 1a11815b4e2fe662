import { count, plural } from "../../count";

const ofStep = (what: string, step: number | null): string => (step === null ? what : `${what}, step ${step}`);

/** The row of key figures on top of the overview. */
export const figures = {
  share: "of 1",
  steps: (complete: number, cut: number, primed: number) =>
    plural(complete, "step") + (cut > 0 ? `, ${count(cut)} incomplete` : "") + (primed > 0 ? `, ${count(primed)} primed` : ""),
  step: {
    label: (step: number | null) => `Step ${step}`,
    incomplete: "incomplete",
    ofAverage: (share: string) => `${share} of the average`,
    help: "The selected step's window.",
  },
  average: {
    label: "Average step",
    note: (deviation: string, least: string, most: string, steps: string) => `σ ${deviation}, ${least} to ${most}, ${steps}`,
    help: "Mean duration of the complete steps, with its standard deviation and extremes.",
  },
  utilisation: {
    label: (step: number | null) => (step === null ? "Device utilisation" : ofStep("Utilisation", step)),
    none: "no device times",
    note: "busy within the steps",
    help: "Busy device time within the steps' windows, as a share of these windows.",
  },
  smEfficiency: {
    label: (step: number | null) => ofStep("SM efficiency", step),
    note: (occupancy: string) => `occupancy ${occupancy}`,
    help: "Within the steps, the share of multiprocessors that held blocks; and the occupancy of kernels, weighted by duration. CUPTI estimates both from launches.",
  },
  ofSpan: (share: string) => `${share} of the device's span`,
  busy: { label: (step: number | null) => ofStep("Busy", step), help: "At least one device activity ran: the union over all streams." },
  idle: { label: (step: number | null) => ofStep("Idle", step), help: "Between the first and the last device activity, none ran." },
  kernels: {
    label: (step: number | null) => ofStep("Kernels", step),
    unit: "kernels",
    others: (communication: number, memcpys: number, memsets: number) => [
      communication ? `${count(communication)} communication` : "",
      memcpys ? plural(memcpys, "memcpy", "memcpys") : "",
      memsets ? plural(memsets, "memset") : "",
    ].filter(Boolean).join(", "),
    help: "Kernels on the device that are not communication; what else ran there stands below.",
  },
  recording: { label: "Recording", steps: (n: number) => plural(n, "step"), help: "From the first event to the last." },
};
