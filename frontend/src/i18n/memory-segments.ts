// The texts of a memory snapshot's segments, apart from `t`: few recordings have one.
import { language } from ".";
import { memorySegments as english } from "./en/pages/memory-segments";
import { withEnglish } from "./translation";

export const memorySegments =
  language === "zh"
    ? withEnglish(english, (await import("./zh/zh-memory-segments")).memorySegments)
    : english;
