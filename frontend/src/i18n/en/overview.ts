export const overview = {
  steps: "Steps",
  step: { noun: "step", nouns: "steps" },
  clickOne: "click one to select it",
  selected: (step: number) => `step ${step} selected`,
  showAll: "show all",
  noSteps: "The trace has no steps.",
  /** What a word such as `inferred` stands for. */
  meaning: (word: string) => `What ${word} means here`,
  device: "Device",
  run: "Run",
  cutOff: "cut off",
  cutOffHelp: "Cut off by the end of the recording; not in the averages.",
  primed: "primed",
  primedHelp: "The capture kept the device busy first, so that durations show; not in the averages.",
  columns: {
    step: { title: "Step" },
    start: { title: "Start", help: "Since the recording's start; the link shows the step in the timeline." },
    duration: { title: "Duration" },
  },
  part: (category: string) => `What part of the step goes to ${category}; the parts sum to the duration.`,
  legend: "What the steps go to",
  average: "average",
};
