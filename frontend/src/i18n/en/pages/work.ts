// English texts of the columns of FLOPs, bytes and roofs.
export const work = {
  columns: {
    flops: {
      title: "FLOP",
      help: "Operations of its device activities, or on the CPU its own, by input shapes. Empty: no model.",
    },
    totalFlops: { title: "FLOP total", help: "With those of the operators that it called." },
    bytes: { title: "Bytes", help: "What the same work must read and write." },
    flopRate: { title: "TFLOP/s", help: "By the time of the work with known operations." },
    byteRate: { title: "GB/s", help: "By the time of the work with known bytes." },
    intensity: { title: "FLOP/B", help: "Arithmetic intensity: operations per byte." },
    roofShare: { title: "% of roof", help: "The least time that the device allows, as a share of the time." },
    aboveRoof: { title: "Above the roof", help: "Time beyond the least that the device allows." },
  },
  modeled: (share: string) => `work known of ${share}`,
  modeledHelp: (roof: string) =>
    `The share of device time, communication apart, with a model of its FLOPs and bytes. ${roof} The columns are in the menu of columns.`,
  roofs: {
    data_sheet: "Roofs are those of the data sheet.",
    user_file: "Roofs are those of your vendor file.",
    best_seen: "Roofs are the best rates of this recording.",
    none: "No roof is known.",
  },
  roofsOf: {
    data_sheet: (types: string) => `Roofs of ${types} are those of the data sheet.`,
    user_file: (types: string) => `Roofs of ${types} are those of your vendor file.`,
    best_seen: (types: string) => `Roofs of ${types} are the best rates of this recording.`,
  },
  withoutUnit: (type: string) => `${type} without the matrix unit`,
};
