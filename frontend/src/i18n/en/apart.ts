// Texts that the first page does not load: `../culprits.ts`, `../parallelism.ts` and `../report.ts` have them.
import { culprits } from "./pages/culprits";
import { parallelism } from "./pages/parallelism";
import { report } from "./pages/report";

export const apart = { culprits, parallelism, report };
