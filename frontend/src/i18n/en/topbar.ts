export const topbar = {
  run: "Run",
  rank: "Rank",
  span: "Span",
  step: "Step",
  allSteps: "all",
  looking: "looking for more…",
  keys: "Keys and filters",
  language: "Language",
  source: "Where device times come from",
  findings: "Findings",
  findingsHelp: "What is doubtful about the data",
  withExamples: "with examples",
};
