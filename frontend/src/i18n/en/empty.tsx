/** A logdir without traces. */
export const empty = {
  looking: (logdir: string) => `Looking for traces in ${logdir}…`,
  title: (logdir: string) => `No traces in ${logdir || "the logdir"} yet`,
  what: () => <>Traces of torch.profiler are files such as <code>worker0.1700000000000.pt.trace.json.gz</code>, in any folder below the logdir. With these lines a training script writes one there:</>,
  again: "The page looks again every few seconds and shows a trace as soon as there is one.",
  else: "What else was found",
};
