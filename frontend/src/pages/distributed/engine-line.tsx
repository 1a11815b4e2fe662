// Who has read the traces of this server, how fast, and what it would cost here: of a cluster, or where
// that took long.
import { useEffect, useState } from "preact/hooks";
import { fetchExtras } from "../../api/client";
import type { EngineUse } from "../../api/types";
import { bytes, duration, rate } from "../../lib/format";
import { parallelism } from "../../i18n/parallelism";

const texts = parallelism.read;
const NS = 1e9;
/** Who waits for longer hears of clusters, as with `ingest`. */
const LONG_S = 60;

/** The sentences about what was read; none if nothing was read since the server started, or this machine
 * did it before anybody asks how. */
export function engineTexts(use: EngineUse | null, localReaders: number): string[] {
  if (!use || (use.engine === "local" && use.seconds <= LONG_S)) return [];
  const seconds = Math.max(use.seconds, 1e-3);
  const speed = rate(use.bytes / seconds);
  const atATime = (use.reader_seconds / seconds).toFixed(1);
  const said = [
    texts[use.engine](texts.traces(use.traces), bytes(use.bytes), duration(seconds * NS), speed, atATime),
  ];
  const isCluster = use.engine === "dask";
  const here = (): string => texts.here(duration((use.reader_seconds / localReaders) * NS), localReaders);
  return [...said, isCluster ? here() : texts.switch];
}

export function EngineLine() {
  const [said, setSaid] = useState<string[]>([]);
  useEffect(() => {
    const ending = new AbortController();
    fetchExtras({ signal: ending.signal }).then(
      (extras) => {
        setSaid(engineTexts(extras.read, extras.local_readers));
      },
      () => undefined, // the page is whole without it
    );
    return () => {
      ending.abort();
    };
  }, []);
  return said.length === 0 ? null : (
    <p class="muted" data-testid="engine">
      {said.join(" ")}
    </p>
  );
}
