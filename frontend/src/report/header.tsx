// The head of a report: what it is about, when it was recorded, and the way to its parts.
import type { ComponentChildren } from "preact";
import type { Overview, PartFailure, ReportPlace, WindowFacts } from "../api/types";
import { sourceLabel } from "../pages/shared/timeline-source";
import { Findings } from "../pages/shared/load-states";
import { dateTime } from "../lib/format";
import { report as texts } from "../i18n/report";
import { switchTheme, theme } from "./theme";
import { within } from "./ways";
import "../widgets/controls/badge.css";

export type PartName = keyof typeof texts.parts;

interface HeaderProps {
  brand: string;
  title: string;
  parts: readonly PartName[];
  children: ComponentChildren;
}

export function Header({ brand, title, parts, children }: HeaderProps) {
  return (
    <header class="reporthead">
      <p class="brand">
        {brand}
        <button
          type="button"
          class="quiet push"
          onClick={switchTheme}
          title={texts.theme}
          data-testid="theme"
        >
          {theme.value === "dark" ? texts.toLight : texts.toDark}
        </button>
      </p>
      <h1>{title}</h1>
      {children}
      <nav aria-label={texts.sections}>
        {parts.map((name) => (
          <a key={name} {...within(name)}>
            {texts.parts[name]}
          </a>
        ))}
      </nav>
    </header>
  );
}

interface PlaceLineProps {
  place: ReportPlace;
  overview?: Overview | null;
  /** What the figures are of. */
  window: WindowFacts | null | undefined;
}

/** What of a trace the report is about, and when and where that was recorded, in one line. */
export function PlaceLine({ place, overview, window }: PlaceLineProps) {
  const device = overview?.device[0]?.value;
  const facts = [
    window?.text,
    device,
    place.ranks.length > 1 && texts.rank(place.rank, place.ranks.length),
    place.spans > 1 && texts.span(place.span, place.spans),
    place.recorded_ns !== null
      ? texts.recorded(dateTime(place.recorded_ns))
      : place.written_ns !== null && texts.written(dateTime(place.written_ns)),
  ].filter(Boolean);
  return (
    <p class="placeline muted" data-testid="place">
      {facts.join(" · ")}
      {overview && <Badge overview={overview} />}
    </p>
  );
}

/** How the device's times are known. */
function Badge({ overview }: { overview: Overview }) {
  const { timeline } = overview.provenance;
  return (
    <span class={`badge source ${timeline}`} data-testid="source-badge" data-timeline={timeline}>
      <i
        class={timeline === "inferred" ? "swatch inferred" : "swatch"}
        style={{ "--fill": timeline === "none" ? "transparent" : "var(--kernel)" }}
      />
      {sourceLabel(overview)}
    </span>
  );
}

/** What of a part could not be computed. */
export function PartFailures({
  failures,
  part,
}: {
  failures: readonly PartFailure[];
  part: PartFailure["part"];
}) {
  const found = failures.filter((one) => one.part === part).map((one) => one.finding);
  return found.length > 0 ? <Findings findings={found} /> : null;
}

interface PartProps {
  name: PartName;
  note?: ComponentChildren;
  children: ComponentChildren;
}

/** A part of the report with its heading. */
export function Part({ name, note, children }: PartProps) {
  return (
    <section class="reportpart" id={name} data-testid={`part-${name}`}>
      <h2 class="section">
        {texts.parts[name]} {note && <small class="muted">{note}</small>}
      </h2>
      {children}
    </section>
  );
}
