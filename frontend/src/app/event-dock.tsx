// The inspector of the event that the URL names: over that of the page, if one is open there.
import type { Item } from "../api/types";
import type { Selected } from "../state/selection";
import { go, state } from "../state/url";
import { t } from "../i18n";
import { Inspector } from "../widgets/inspector/inspector";
import { onDemand } from "../pages/shared/on-demand";

const texts = t.inspector;

/** Comes with the first event that is opened. */
const OpenEvent = onDemand(() =>
  import("../pages/shared/inspector/event-inspector").then((parts) => parts.OpenEvent),
);

export function EventDock({ selected }: { selected: Selected }) {
  const { event } = state.value;
  if (event === null) return null;
  const [name = "", rank] = event.split("@");
  const table = name.split("/")[0] ?? "";
  const kind = Object.hasOwn(texts.tables, table) ? texts.tables[table as Item["table"]] : texts.event;
  return (
    <Inspector
      testid="record"
      event={name}
      label={texts.event}
      below={state.value.view === "timeline"}
      kind={texts.kindOf(kind, rank === undefined ? null : Number(rank))}
      close={() => go({ event: null })}
    >
      <OpenEvent key={event} selected={selected} event={event} />
    </Inspector>
  );
}
