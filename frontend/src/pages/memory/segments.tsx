// Where a memory snapshot has segments: their picture, which comes with its first use.
import { useState } from "preact/hooks";
import { t } from "../../i18n";
import type { Selected } from "../../state/selection";
import { useView } from "../../state/use-result";
import { onDemand } from "../shared/on-demand";

const Section = onDemand(() => import("./segments-section").then((module) => module.SegmentsSection));

export function Segments({ selected, device }: { selected: Selected; device: string | null }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary data-testid="open-memory-segments">{t.memory.segments}</summary>
      {open && <Asked selected={selected} device={device} />}
    </details>
  );
}

function Asked({ selected, device }: { selected: Selected; device: string | null }) {
  return <Section resource={useView("memory_segments", selected, device === null ? {} : { device })} />;
}
