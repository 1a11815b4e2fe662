export const nodevice = {
  noDeviceTimes: "This trace has no device times.",
  hostOnly: "This trace holds host activity only.",
  cpuAlone: "If the run used the CPU alone, nothing is missing.",
  deviceAfterAll: "It did use a device?",
  notRecorded: "Then its activity was not recorded. With these lines it is:",
  why: "In its default state torch.profiler records host times only on a PrivateUse1 device: it never calls the "
    + "backend's ProfilerStubs, so no device time reaches the trace.",
  changeCapture: "Change the capture to these lines; they take the arguments of torch.profiler.profile:",
  follows: "What follows is what the host did.",
};
