import { afterAll, expect, test, vi } from "vitest";
import { inTensorBoard } from "../../support/browser";

inTensorBoard("http://host/");
const { withChange } = await import("../../../src/pages/whatif/tables");

afterAll(() => vi.unstubAllGlobals());

test.each([
  ["gemm=0.5", "kernel:relu=0", "gemm=0.5\nkernel:relu=0"],
  ["gemm=0.5\nkernel:relu=0", "gemm=0", "kernel:relu=0\ngemm=0"],
  ["gemm=0.5", "gemm", "gemm=0.5\ngemm"],
  ["gemm=0.5\nsynchronization=0", "relu", "gemm=0.5\nsynchronization=0\nrelu"],
  ["gemm=0.5\nrelu", "relu", "gemm=0.5\nrelu"],
  ["f<a=b>=0.5", "f<a=0", "f<a=b>=0.5\nf<a=0"],
  [null, "gemm=0.5", "gemm=0.5"],
])("with the changes %j, %j is added", (changes, change, all) => {
  expect(withChange(changes, change)).toBe(all);
});
