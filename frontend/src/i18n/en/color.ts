/** The categories of what a step's time goes to. */
export const color = {
  kernel: "Kernel",
  memcpy: "Memcpy",
  memset: "Memset",
  communication: "Communication",
  runtime: "Runtime",
  dataloader: "DataLoader",
  cpu: "CPU",
  other: "Other",
};
