// Texts that the first page does not load: `../culprits.ts`, `../parallelism.ts` and `../report.ts` have them.
import { culprits } from "./zh-culprits";
import { parallelism } from "./zh-parallelism";
import { report } from "./pages/report";

export const apart = { culprits, parallelism, report };
