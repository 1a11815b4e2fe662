// @vitest-environment happy-dom
// What the page says about who read the traces, and what this machine would take.
import { expect, test } from "vitest";
import type { EngineUse } from "../../../src/api/types";
import { engineTexts } from "../../../src/pages/distributed/engine-line";

const use: EngineUse = { engine: "local", traces: 64, bytes: 12e6, seconds: 10, reader_seconds: 18 };

test("nothing was read, nothing is said", () => {
  expect(engineTexts(null, 2)).toEqual([]);
});

test("this machine is said with its speed and the switch only where it takes long", () => {
  expect(engineTexts(use, 2)).toEqual([]);
  const long = engineTexts({ ...use, seconds: 90, reader_seconds: 180 }, 2);
  expect(long[0]).toBe("This machine read 64 traces, 11.4 MiB, in 90.0 s (133 kB/s), 2.0 at a time.");
  expect(long[1]).toContain("TB_PRIVATEUSE1_ENGINE");
});

test("a cluster is said with what it would cost here", () => {
  expect(engineTexts({ ...use, engine: "dask", reader_seconds: 60 }, 2)).toEqual([
    "A Dask cluster read 64 traces, 11.4 MiB, in 10.0 s (1.20 MB/s), 6.0 at a time.",
    "This machine reads 2 at a time: it would take about 30.0 s, with processors as fast.",
  ]);
});
