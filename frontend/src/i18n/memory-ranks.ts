// The texts of the memory of all ranks, apart from `t`: most recordings are of one rank.
import { language } from ".";
import { memoryRanks as english } from "./en/pages/memory-ranks";
import { withEnglish } from "./translation";

export const memoryRanks =
  language === "zh" ? withEnglish(english, (await import("./zh/zh-memory-ranks")).memoryRanks) : english;
