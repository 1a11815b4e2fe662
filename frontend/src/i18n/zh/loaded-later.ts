// Chinese texts that single pages load later, for the test of translations.
import * as compare from "./zh-diff";
import { compilation } from "./zh-compilation";
import { culprits } from "./zh-culprits";
import { memoryRanks } from "./zh-memory-ranks";
import { memorySegments } from "./zh-memory-segments";
import { parallelism } from "./zh-parallelism";
import { roofline } from "./zh-roofline";
import { serving } from "./zh-serving";
import { report } from "./pages/report";

export const loadedLater = {
  compare,
  compilation,
  culprits,
  memoryRanks,
  memorySegments,
  parallelism,
  report,
  roofline,
  serving,
};
