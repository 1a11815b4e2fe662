// The timeline's Export menu: files to download, and Perfetto.
import { useEffect, useState } from "preact/hooks";
import type { Extras } from "../api";
import type { Camera } from "../base/camera";
import { duration } from "../base/format";
import { address, asFailure, exportQuery, fetchExtras } from "../fetch";
import type { Selected } from "../place";
import { Popover } from "../widgets/popover";
import { Segmented } from "../widgets/segmented";
import { openInPerfetto, type Stretch } from "./perfetto";

interface ExportProps {
  selected: Selected;
  camera: Camera;
  area: Camera | null;
  all: Camera;
}

type Part = "all" | "shown" | "area";

const FORMATS = [
  { format: "chrome", title: "Chrome trace (JSON)", text: "as recorded, with what was inferred; for chrome://tracing, Perfetto, HTA" },
  { format: "perfetto", title: "Perfetto trace (protobuf)", text: "smaller, with GPU tracks, counters and arrows" },
  { format: "parquet", title: "All tables, Parquet", text: "for pandas, DuckDB and others; a ZIP archive" },
  { format: "csv", title: "All tables, CSV", text: "for spreadsheets; a ZIP archive" },
] as const;

export function Export(props: ExportProps) {
  return (
    <Popover class="export" label="Export" title="Export the trace, or open it in Perfetto" testid="export">
      {() => <Menu {...props} />}
    </Popover>
  );
}

function Menu({ selected, camera, area, all }: ExportProps) {
  const [part, choose] = useState<Part>(area ? "area" : "all");
  const place = selected.place;
  const shown = part === "area" && area ? area : camera;
  const stretch: Stretch = part === "all"
    ? { start_ns: null, end_ns: null }
    : { start_ns: Math.max(0, Math.floor(shown.start)), end_ns: Math.max(1, Math.ceil(shown.stop)) };
  const choices = [
    { value: "all" as const, label: "Whole recording" },
    { value: "shown" as const, label: `What is shown (${duration(Math.round(camera.stop - camera.start))})` },
    ...(area ? [{ value: "area" as const, label: `Selection (${duration(Math.round(area.stop - area.start))})` }] : []),
  ];
  return (
    <div class="exportmenu">
      <Segmented label="What to export" value={part} choices={choices} onPick={(value: Part) => choose(value)} />
      <ul>
        {FORMATS.map(({ format, title, text }) => (
          <li key={format}>
            <a href={address("export", exportQuery(place, { format, ...stretch }))} download data-testid={`export-${format}`}>{title}</a>
            <div class="muted">{text}</div>
          </li>
        ))}
      </ul>
      <Perfetto selected={selected} stretch={stretch} visible={{ start: shown.start, stop: Math.min(shown.stop, all.stop) }} />
    </div>
  );
}

function Perfetto({ selected, stretch, visible }: { selected: Selected; stretch: Stretch; visible: Camera }) {
  const [extras, setExtras] = useState<Extras | null>(null);
  const [state, setState] = useState("");
  useEffect(() => {
    const ending = new AbortController();
    fetchExtras({ signal: ending.signal }).then(setExtras, (error: unknown) => {
      if (!ending.signal.aborted) setState(asFailure(error).message);
    });
    return () => ending.abort();
  }, []);
  const open = (bundled: boolean): void => {
    setState("Opening…");
    openInPerfetto(selected.place, stretch, visible, bundled).then(
      () => setState("It has the trace."),
      (error: unknown) => setState(error instanceof Error ? error.message : String(error)),
    );
  };
  return (
    <section>
      <h2>Open in Perfetto</h2>
      {extras?.perfetto && (
        <p><button type="button" data-testid="perfetto-bundled" onClick={() => open(true)}>Open its pages from this server</button> <span class="muted">nothing leaves it</span></p>
      )}
      {extras && (
        <p>
          <button type="button" data-testid="perfetto-public" onClick={() => open(false)}>Open ui.perfetto.dev</button>{" "}
          <span class="muted">Loads that page from the internet and gives it the trace. It stays in your browser: Perfetto says that its page sends traces nowhere.{!extras.perfetto && <> Without a network: <code>pip install 'tb-privateuse1[perfetto]'</code> where TensorBoard runs.</>}</span>
        </p>
      )}
      <p role="status" class="muted" data-testid="perfetto-state">{state}</p>
    </section>
  );
}
