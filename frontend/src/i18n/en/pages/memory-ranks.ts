// English texts of the memory of all ranks.
export const memoryRanks = {
  title: "Peak of each rank",
  ofStep: (step: string) => `in ${step}`,
  ofRecording: "of its recording, by category",
  rank: "Rank",
  split: { title: "By category", help: "Alive at the peak, as a part of the highest peak." },
  peak: {
    title: "Peak",
    help: "The greatest Total Allocated that the allocator reported, of the recording or in the step.",
  },
  above: { title: "Above the least", help: "More than the rank with the lowest peak." },
  reserved: { title: "Reserved", help: "The most that the allocator has reserved." },
  capacity: { title: "Of the device", help: "The peak as a part of the device's whole memory." },
  step: { title: "In step", help: "The step that the peak is in, by time; none outside of all steps." },
  without: (ranks: readonly number[]) =>
    `Not compared, as they have no totals of memory: ${ranks.length === 1 ? "rank" : "ranks"} ${ranks.join(", ")}.`,
  more: (left: number) => `${left} more ranks have lower peaks: they are in the CSV.`,
};
