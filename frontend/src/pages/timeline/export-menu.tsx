// The timeline's export menu: files to download, and Perfetto.
import { useEffect, useState } from "preact/hooks";
import type { Extras } from "../../api/types";
import type { Camera } from "../../widgets/timeline/camera";
import { duration } from "../../lib/format";
import { address, asFailure, exportQuery, fetchExtras } from "../../api/client";
import type { Selected } from "../../state/selection";
import { t } from "../../i18n";
import { Popover } from "../../widgets/controls/popover";
import { Segmented } from "../../widgets/controls/segmented";
import { openInPerfetto, type Interval } from "./open-in-perfetto";
import "./export-menu.css";

interface ExportProps {
  selected: Selected;
  camera: Camera;
  area: Camera | null;
  all: Camera;
}

type Part = "all" | "shown" | "area";

const texts = t.exportMenu;
const FORMATS = ["chrome", "perfetto", "stacks", "parquet", "csv"] as const;

export function ExportMenu(props: ExportProps) {
  return (
    <Popover class="export" label={texts.export} title={texts.exportHelp} testid="export">
      {() => <Menu {...props} />}
    </Popover>
  );
}

function Menu({ selected, camera, area, all }: ExportProps) {
  const [part, choose] = useState<Part>(area ? "area" : "all");
  const place = selected.place;
  const shown = part === "area" && area ? area : camera;
  const interval: Interval =
    part === "all"
      ? { start_ns: null, end_ns: null }
      : { start_ns: Math.max(0, Math.floor(shown.start)), end_ns: Math.max(1, Math.ceil(shown.stop)) };
  const choices = [
    { value: "all" as const, label: texts.all },
    { value: "shown" as const, label: texts.shown(duration(Math.round(camera.stop - camera.start))) },
    ...(area
      ? [{ value: "area" as const, label: texts.area(duration(Math.round(area.stop - area.start))) }]
      : []),
  ];
  return (
    <div class="exportmenu">
      <Segmented label={texts.what} value={part} choices={choices} onPick={(value: Part) => choose(value)} />
      <ul>
        {FORMATS.map((format) => (
          <li key={format}>
            <a
              href={address("export", exportQuery(place, { format, ...interval }))}
              download
              data-testid={`export-${format}`}
            >
              {texts.formats[format].title}
            </a>
            <div class="muted">{texts.formats[format].about}</div>
          </li>
        ))}
      </ul>
      <Perfetto
        selected={selected}
        interval={interval}
        visible={{ start: shown.start, stop: Math.min(shown.stop, all.stop) }}
      />
    </div>
  );
}

function Perfetto({
  selected,
  interval,
  visible,
}: {
  selected: Selected;
  interval: Interval;
  visible: Camera;
}) {
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
    setState(texts.opening);
    openInPerfetto(selected.place, interval, visible, bundled).then(
      () => setState(texts.given),
      (error: unknown) => setState(error instanceof Error ? error.message : String(error)),
    );
  };
  return (
    <section>
      <h2>{texts.inPerfetto}</h2>
      {extras?.perfetto && (
        <p>
          <button type="button" data-testid="perfetto-bundled" onClick={() => open(true)}>
            {texts.bundled}
          </button>{" "}
          <span class="muted">{texts.bundledNote}</span>
        </p>
      )}
      {extras && (
        <p>
          <button type="button" data-testid="perfetto-public" onClick={() => open(false)}>
            {texts.public}
          </button>{" "}
          <span class="muted">
            {texts.publicNote}
            {!extras.perfetto && texts.install()}
          </span>
        </p>
      )}
      <p role="status" class="muted" data-testid="perfetto-state">
        {state}
      </p>
    </section>
  );
}
