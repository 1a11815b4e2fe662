import { count } from "../count";
import type { format as english } from "../en/format";

export const format: typeof english = {
  missing: "此 trace 中没有",
  unknownBound: "± 未知",
  kernels: (n) => `${count(n)} 个 kernel`,
  perMs: (n) => `每 ms ${n} 个`,
};
