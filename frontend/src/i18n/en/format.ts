import { plural } from "../count";

export const format = {
  missing: "not in this trace",
  unknownBound: "± unknown",
  kernels: (n: number) => plural(n, "kernel"),
  perMs: (n: string) => `${n} per ms`,
};
