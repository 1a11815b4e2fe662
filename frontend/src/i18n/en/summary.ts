import { count } from "../count";

export const summary = {
  totals: "Device totals",
  totalsNote: (step: number | null) => `${step === null ? "of the recording" : `of step ${step}`}, as shares of the span`,
  noDeviceTimes: "No device times.",
  rows: {
    span: { label: "Span", title: "From the first device activity's start to the last one's end." },
    busy: { label: "Busy", title: "At least one activity ran." },
    idle: { label: "Idle", title: "Span less busy." },
    compute: { label: "Compute", title: "At least one kernel ran that is not communication." },
    communication: { label: "Communication", title: "At least one communication kernel ran." },
    overlap: { label: "Overlap", title: "Compute and communication at once." },
    memcpy: { label: "Memcpy", title: "At least one copy ran." },
    memset: { label: "Memset", title: "At least one fill ran." },
  },
  linked: (linked: string, unlinked: number) =>
    `${linked} activities are linked to the operator that launched them${unlinked ? `, ${count(unlinked)} are not` : ""}.`,
  topOperators: "Top operators",
  topKernels: "Top kernels",
  byHostSelf: "by host self time",
  byDeviceSelf: "by device self time",
  byHost: "by host time",
  byDevice: "by device time",
  none: "None.",
  calls: (name: string, calls: number) => `${name}\n${count(calls)} calls`,
  notTold: "The trace does not tell.",
};
