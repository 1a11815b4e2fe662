// English texts of failed requests to the server, and of names that the server gives.
export const client = {
  mistake: "The page made a mistake.",
  noAnswer: (seconds: number) => `TensorBoard has not answered for ${seconds} seconds.`,
  noAnswerHint: "It may be busy reading other traces. Try again, or look at its log.",
  unreachable: "TensorBoard cannot be reached.",
  unreachableHint: "Is it still running? Start it again, then try again.",
  unexplained: (status: number) => `The server answered with status ${status} and no explanation.`,
  unexplainedHint: "TensorBoard's log has details. If a proxy is between, it may be its answer.",
};

/** What the server calls something that has no name in the trace. */
export const traceNames = {
  "whole trace": "whole trace",
  "(no parent operator)": "(no parent operator)",
  "(outside of modules)": "(outside of modules)",
  "(outside of annotations)": "(outside of annotations)",
  "(outside of operators)": "(outside of operators)",
  "(matched with an eager run)": "(matched with an eager run)",
  "(annotated in the graph)": "(annotated in the graph)",
};
