// Texts that the first page does not load: the files of `..` with these names have them.
import { culprits } from "./zh-culprits";
import { parallelism } from "./zh-parallelism";
import { roofline } from "./zh-roofline";
import { report } from "./pages/report";

export const apart = { culprits, parallelism, report, roofline };
