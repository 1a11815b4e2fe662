// English texts of the counters page.
export const counters = {
  title: "Counters",
  none: "This trace has no counters.",
  noneHelp:
    "A trace has counters if the profiler records clocks, power or bandwidth, or if the program adds events of phase C.",
  table: "Table",
  tabs: {
    counters: "All counters",
    kernels: "By kernel",
    kernelsHelp: "The chosen counter while the kernels of one name run.",
    noKernels: "Kernels have no measured times, or started before the first value.",
    steps: "By step",
    stepsHelp: "The chosen counter in the window of each step.",
  },
  counter: "Counter",
  nouns: {
    counter: { noun: "counter", nouns: "counters" },
    kernel: { noun: "kernel name", nouns: "kernel names" },
    step: { noun: "step", nouns: "steps" },
  },
  columns: {
    name: { title: "Counter", help: "A row shows the counter by kernel." },
    one: { title: "Counter" },
    process: { title: "Process", help: "The process of the trace that has it, often a device." },
    values: { title: "Values", help: "How many were recorded." },
    interval: { title: "Interval", help: "The median time from one value to the next." },
    mean: { title: "Mean", help: "Over time, in the counter's own unit. A value holds until the next one." },
    min: { title: "Min" },
    max: { title: "Max" },
    busy: { title: "Busy mean", help: "While anything runs on a device." },
    idle: { title: "Idle mean", help: "While nothing runs on a device." },
    kernel: { title: "Kernel" },
    calls: { title: "Calls" },
    device: { title: "Device time" },
    samples: {
      title: "Values inside",
      help: "The values that were recorded while these kernels ran. With few, the mean is that of what ran around them.",
    },
    step: { title: "Step" },
    length: { title: "Length" },
  },
};
