import { plural } from "../count";

export const timelineranks = {
  noRank: (rank: number) => `There is no rank ${rank}.`,
  reference: "the others are on its clock",
  notAligned: "clock not aligned: from its own start",
  aligned: (bound: string, ties: number) => `aligned${bound && ` ${bound}`} by ${plural(ties, "collective")}`,
  title: "Show several ranks below each other",
  shown: (shown: string, all: number) => `${shown} of ${plural(all, "rank")}`,
  add: "Add ranks",
  reading: "Reading all ranks…",
  readingOf: (done: string, all: string) => `Reading all ranks: ${done} of ${all}…`,
  added: (ranks: string) => `Added ${ranks}: the others wait for them, or they compute longest.`,
  noFurther: "There is no further rank.",
  addSlowest: "Add the slowest",
  only: (rank: number) => `Only rank ${rank}`,
  find: "Find ranks",
  findHint: "Rank or host",
  narrow: (others: string) => `${others} more: type to narrow.`,
  nothing: "Nothing matches.",
  atMost: (most: number) => `At most ${most} ranks.`,
  failed: (rank: number, why: string) => `Rank ${rank}: ${why}`,
};
