// Texts that the first page does not load: the files of `..` with these names have them.
import { culprits } from "./pages/culprits";
import { parallelism } from "./pages/parallelism";
import { report } from "./pages/report";
import { roofline } from "./pages/roofline";

export const apart = { culprits, parallelism, report, roofline };
