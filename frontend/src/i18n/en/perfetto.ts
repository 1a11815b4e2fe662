export const perfetto = {
  noWindow: "The browser did not open a window. Allow pop-ups for this page, then try again.",
  closed: "Its window was closed.",
  noAnswer: "Perfetto's pages do not answer. Is there a network?",
  title: (run: string, rank: number, span: number) => `${run} rank ${rank} span ${span}`,
};
