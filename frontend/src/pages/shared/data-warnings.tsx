// Data warnings: severity marks, and the line beside figures that are affected.
import type { Finding } from "../../api/types";
import { t } from "../../i18n";
import { linkProps } from "../../state/links";
import "./data-warnings.css";

export type Severity = Finding["severity"];
export type Figures = Finding["affects"][number];

const ORDER: readonly Severity[] = ["error", "warning", "info"];

export const SEVERITIES: Readonly<Record<Severity, string>> = t.dataWarnings.severities;

/** The worst first, otherwise in the order given. */
export function ranked(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
}

/** `1 error, 2 warnings`; notes only where there is nothing worse. */
export function summary(findings: readonly Finding[]): string {
  const count = (severity: Severity): number => findings.filter((f) => f.severity === severity).length;
  return t.dataWarnings.summary(count("error"), count("warning"), count("info"));
}

/** Why there are no device times: where these are missing, a notice says it at length. */
const NOTICED: ReadonlySet<string> = new Set([
  "no_device_times",
  "events_route_dead",
  "elapsed_coarse",
  "elapsed_unit",
  "elapsed_of_the_host",
  "elapsed_not_of_a_stream",
  "several_streams",
]);

/** Why there are no device times, if there are none; nothing of a program without a device. */
export const refusal = (findings: readonly Finding[]): Finding | undefined =>
  ranked(findings).find((f) => f.severity === "error" && NOTICED.has(f.code));

/** A stream without a timeline: the recording page says why. */
const MISSING_STREAM = "stream_missing";

/** Errors and warnings about some figures. */
export function warningsOf(findings: readonly Finding[], figures: readonly Figures[]): Finding[] {
  return ranked(findings).filter(
    (f) => f.severity !== "info" && !NOTICED.has(f.code) && f.affects.some((a) => figures.includes(a)),
  );
}

interface DoubtsProps {
  findings: readonly Finding[];
  /** What is shown here. */
  figures: readonly Figures[];
}

/** What is doubtful about the figures beside it, with the way to all of it; nothing if nothing is. */
export function DataWarnings({ findings, figures }: DoubtsProps) {
  const [first, ...others] = warningsOf(findings, figures);
  if (!first) return null;
  return (
    <p
      class="doubts"
      data-testid={`doubts-${figures.join("-")}`}
      data-value={others.length + 1}
      data-code={first.code}
      data-severity={first.severity}
    >
      <SeverityMark severity={first.severity} />
      <span title={[first, ...others].map((f) => f.message).join("\n")}>
        {first.message}
        {others.length > 0 && t.dataWarnings.more(others.length)}
      </span>{" "}
      {first.code === MISSING_STREAM ? (
        <ToMethod />
      ) : (
        <a {...linkProps({ view: "recording", section: "quality", filter: first.code })}>
          {t.dataWarnings.quality}
        </a>
      )}
    </p>
  );
}

/** The way to what the timeline rests on, and why it is refused. */
export function ToMethod() {
  return (
    <a {...linkProps({ view: "recording", section: "method" })} data-testid="refusal-method">
      {t.dataWarnings.method}
    </a>
  );
}

/** The streams that no figure of the device has; nothing if it has all. */
export function MissingStreams({ streams }: { streams: readonly string[] }) {
  if (streams.length === 0) return null;
  return (
    <p class="doubts" data-testid="missing-streams" data-value={streams.length} data-severity="error">
      <SeverityMark severity="error" /> <span>{t.dataWarnings.missing(streams.join(", "))}</span> <ToMethod />
    </p>
  );
}

/** The severity as a shape, a color and a word (or another one, of what is no doubt). */
export function SeverityMark({ severity, word = false }: { severity: Severity; word?: boolean | string }) {
  return (
    <span class={`mark ${severity}`}>
      <svg
        viewBox="0 0 16 16"
        width="14"
        height="14"
        {...(word ? { "aria-hidden": true } : { role: "img", "aria-label": SEVERITIES[severity] })}
      >
        <path d={SHAPES[severity]} />
      </svg>
      {word === true ? SEVERITIES[severity] : word}
    </span>
  );
}

const SHAPES: Readonly<Record<Severity, string>> = {
  error: "M5 1.5h6L14.5 5v6L11 14.5H5L1.5 11V5zM5.5 5.5l5 5M10.5 5.5l-5 5",
  warning: "M8 2l6.5 11.5h-13zM8 6.5v3.2M8 11.2v.6",
  info: "M8 1.5a6.5 6.5 0 1 0 .01 0zM8 7v4.5M8 4.5v.6",
};
