// Texts that the first page does not load: `../report.ts` and `../parallelism.ts` have them.
import { parallelism } from "./zh-parallelism";
import { report } from "./pages/report";

export const apart = { parallelism, report };
