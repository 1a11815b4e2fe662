// Opens the trace in Perfetto's pages, with the messages that they are documented to take:
// https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui
import { address, fetchExport, type Place } from "../../api/client";
import { t } from "../../i18n";

const PUBLIC = "https://ui.perfetto.dev";
const PING_MS = 200;
/** Loading their pages takes a while on a slow line. */
const PATIENCE_MS = 120_000;

export interface Interval {
  start_ns: number | null;
  end_ns: number | null;
}

/** `bundled`: the copy of the pages on this server. To be called from a click: it opens a window.
 * Resolves when the trace is handed over; rejects with a Failure, or with words. */
export async function openInPerfetto(
  place: Place,
  interval: Interval,
  visible: { start: number; stop: number },
  bundled: boolean,
): Promise<void> {
  const query = `visStart=${Math.max(0, Math.ceil(visible.start))}&visEnd=${Math.floor(visible.stop)}`;
  const url = `${bundled ? address("perfetto/index.html", {}) : `${PUBLIC}/`}#!/viewer?${query}`;
  const opened = window.open(url, "_blank");
  if (!opened) throw new Error(t.perfetto.noWindow);
  const origin = new URL(url).origin;
  const [buffer] = await Promise.all([
    fetchExport(place, { format: "perfetto", ...interval }),
    answered(opened, origin),
  ]);
  const title = t.perfetto.title(place.run, place.rank, place.span);
  opened.postMessage({ perfetto: { buffer, title, fileName: "trace.perfetto-trace.gz" } }, origin, [buffer]);
}

/** Resolves once the pages in the window answer. */
function answered(opened: Window, origin: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const since = performance.now();
    const stop = (): void => {
      clearInterval(timer);
      window.removeEventListener("message", onMessage);
    };
    const onMessage = (event: MessageEvent): void => {
      if (event.source !== opened || event.origin !== origin || event.data !== "PONG") return;
      stop();
      resolve();
    };
    const timer = setInterval(() => {
      if (opened.closed || performance.now() - since > PATIENCE_MS) {
        stop();
        reject(new Error(opened.closed ? t.perfetto.closed : t.perfetto.noAnswer));
        return;
      }
      opened.postMessage("PING", origin);
    }, PING_MS);
    window.addEventListener("message", onMessage);
  });
}
