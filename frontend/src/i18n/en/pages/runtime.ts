// English texts of the runtime calls page.
export const runtime = {
  title: "Runtime calls",
  noun: "call name",
  nouns: "call names",
  none: "No calls of a device's runtime or driver were recorded.",
  summary: (blocked: string, total: string) => `${blocked} of ${total} blocked on the device`,
  summaryHelp: "Sum over all threads; a call inside another one counts once.",
  columns: {
    name: { title: "Call", help: "A row opens the record of its typical call." },
    share: { title: "Of the window", help: "Of the window's time on the host. Threads may call at once." },
    total: { title: "Total", help: "Sum of their time on the host." },
    calls: { title: "Calls" },
    mean: { title: "Mean" },
    median: { title: "Typical", help: "The median call; the link opens its record." },
    max: { title: "Max", help: "The link opens the longest call's record." },
    blocked: { title: "Blocked", help: "Time in calls that return when the device has done its work." },
    idle: { title: "Device idle", help: "Of that time, when the device had nothing to do." },
    activities: { title: "Launched", help: "Kernels, copies and fills that they launched." },
    device: { title: "Device time", help: "Of what they launched." },
    operator: { title: "Operator", help: "The operator with most of their time." },
    function: {
      title: "Function",
      help: "Your function with most of their time, from Python stacks; the line is where it begins.",
    },
  },
  showTypical: "Show the typical call",
  showLongest: "Show the longest call",
};
