// English texts of the memory of all ranks.
export const memoryRanks = {
  title: "Peak of each rank",
  ofStep: (step: string) => `in ${step}`,
  ofRecording: "of its recording, by category",
  rank: "Rank",
  split: { title: "By category", help: "Alive at the peak, as a part of the highest peak." },
  peak: "Peak",
  above: { title: "Above the least", help: "More than the rank with the lowest peak." },
  reserved: { title: "Reserved", help: "The most that the allocator has reserved." },
  capacity: "Of the device",
  step: { title: "In step", help: "The first step that has the peak." },
  fullest: "highest",
  more: (left: number) => `${left} more ranks have lower peaks: they are in the CSV.`,
};
