// What was recorded: the kind of recording, its options, the device, and where device times are from.
import type { Extent, Method, Overview, Quality } from "../../api/types";
import { count, duration, exactDuration, percent } from "../../lib/format";
import { useView, type Resource } from "../../state/use-result";
import type { Selected } from "../../state/selection";
import { t } from "../../i18n";
import { CsvButton } from "../../widgets/table/csv-button";
import { Card } from "../shared/card";
import { Facts } from "../shared/cards";
import { partialOf } from "../shared/partial-recording";
import { RecordingLine } from "../shared/recording-line";
import { DeviceTimes } from "./device-times";
import { HeadRow, numbers } from "../../widgets/table/head-row";

const texts = t.recording;

interface RecordedProps {
  selected: Selected;
  base: Overview;
  quality: Resource<Quality>;
  method: Resource<Method>;
}

export function Recorded({ selected, base, quality, method }: RecordedProps) {
  const whole = useView("overview", selected, {}, null);
  return (
    <div class="recording-parts">
      <Card lines={1} resource={whole}>
        {(result) => partialOf(result) === null && <RecordingLine overview={result} />}
      </Card>
      <Card lines={3} resource={method}>
        {(result) => <DeviceTimes result={result} />}
      </Card>
      <div class="columns equal">
        <Facts title={texts.options} facts={base.run} testid="run-facts" head="h3" />
        <Facts title={texts.device} facts={base.device} testid="device-facts" head="h3" />
        <Card lines={8} resource={quality}>
          {(result) => <Contents result={result} />}
        </Card>
      </div>
    </div>
  );
}

function Contents({ result }: { result: Quality }) {
  return (
    <div class="recording-parts">
      {(result.host || result.device) && (
        <section>
          <h3>{texts.extent}</h3>
          <Extents result={result} />
        </section>
      )}
      {result.categories.length > 0 && (
        <section>
          <h3>
            {texts.events} <small class="muted">{texts.eventsNote}</small>
          </h3>
          <Categories result={result} />
        </section>
      )}
    </div>
  );
}

/** When host and device were recorded, on one axis. */
function Extents({ result }: { result: Quality }) {
  const whole = Math.max(1, result.duration_ns);
  const inferred = result.provenance.timeline === "inferred" ? "inferred" : "";
  const row = (label: keyof typeof texts.extents, extent: Extent, fill: string, look = "") => (
    <tr data-key={label}>
      <th scope="row">{texts.extents[label]}</th>
      <td class="recorded-extent">
        <span
          class={look}
          style={{
            left: `${(100 * extent.start_ns) / whole}%`,
            width: `${(100 * (extent.end_ns - extent.start_ns)) / whole}%`,
            "--fill": fill,
          }}
        />
      </td>
      <td class="number" title={texts.fromTo(exactDuration(extent.start_ns), exactDuration(extent.end_ns))}>
        {texts.fromTo(duration(extent.start_ns), duration(extent.end_ns))}
      </td>
    </tr>
  );
  const extents = [
    ...(result.host ? [{ of: "host", ...result.host }] : []),
    ...(result.device ? [{ of: "device", ...result.device }] : []),
  ];
  return (
    <div class="withcsv">
      <CsvButton name="extents" rows={extents} />
      <table class="recorded-extents" data-testid="extents">
        <tbody>
          {result.host && row("host", result.host, "var(--cpu)")}
          {result.device && row("device", result.device, "var(--kernel)", inferred)}
        </tbody>
      </table>
    </div>
  );
}

function Categories({ result }: { result: Quality }) {
  return (
    <div class="withcsv">
      <CsvButton name="categories" rows={result.categories} />
      <table class="plain" data-testid="categories">
        <HeadRow of={[texts.category, numbers(texts.events), numbers(texts.share)]} />
        <tbody>
          {result.categories.map((c) => (
            <tr key={c.name} data-key={c.name} data-value={c.events}>
              <td>{c.name || texts.noCategory}</td>
              <td class="number">{count(c.events)}</td>
              <td class="number">{percent(c.events / result.events)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
