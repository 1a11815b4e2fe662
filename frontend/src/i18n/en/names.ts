/** What the server calls something that has no name in the trace. */
export const names = {
  "whole trace": "whole trace",
  "(launched by no operator)": "(launched by no operator)",
  "(outside of modules)": "(outside of modules)",
  "(outside of annotations)": "(outside of annotations)",
  "(outside of operators)": "(outside of operators)",
};
