// Chinese texts that single pages load later, for the test of translations.
import { culprits } from "./zh-culprits";
import { memoryRanks } from "./zh-memory-ranks";
import { parallelism } from "./zh-parallelism";
import { roofline } from "./zh-roofline";
import { serving } from "./zh-serving";
import { report } from "./pages/report";

export const loadedLater = { culprits, memoryRanks, parallelism, report, roofline, serving };
