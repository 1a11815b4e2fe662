// English texts that single pages load later, for the test of translations.
import * as compare from "./pages/diff";
import { compilation } from "./pages/compilation";
import { culprits } from "./pages/culprits";
import { parallelism } from "./pages/distributed-parallelism";
import { memoryRanks } from "./pages/memory-ranks";
import { memorySegments } from "./pages/memory-segments";
import { report } from "./pages/report";
import { roofline } from "./pages/roofline";
import { serving } from "./pages/serving";

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
