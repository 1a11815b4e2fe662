// One bar of all device time by its distance from the roof; a part leads to its rows.
import type { DistanceRow, RooflineRow } from "../../api/types";
import { duration, durationLimits, exactDuration, percent } from "../../lib/format";
import { linkProps } from "../../state/links";
import { roofline } from "../../i18n/roofline";
import { CsvButton } from "../../widgets/table/csv-button";
import "./distance-bar.css";

const texts = roofline.distance;

type Distance = DistanceRow["distance"];

/** The column of the table that has a row's part of the time. */
export const columnOf = (distance: Distance): `${Distance}_ns` & keyof RooflineRow => `${distance}_ns`;

export function DistanceBar({
  distances,
  inferred,
}: {
  distances: readonly DistanceRow[];
  inferred: boolean;
}) {
  const some = distances.filter((d) => (d.device_ns ?? 0) > 0);
  if (some.length === 0) return null;
  return (
    <section class="distances" data-testid="roofline-distances">
      <h2>
        {texts.title} <small class="muted">{texts.note}</small>
        <CsvButton name="roofline-distances" rows={distances} />
      </h2>
      <div class="timebar" role="img" aria-label={texts.label(some.map(partLabel))}>
        {some.map((d) => (
          <span
            key={d.distance}
            class={inferred ? "part inferred" : "part"}
            data-distance={d.distance}
            style={{ flexGrow: d.device_ns ?? 0 }}
            title={`${partLabel(d)}\n${texts.help[d.distance]}`}
          />
        ))}
      </div>
      <ul class="legend">
        {some.map((d) => (
          <Part key={d.distance} part={d} inferred={inferred} />
        ))}
      </ul>
    </section>
  );
}

const partLabel = (d: DistanceRow): string =>
  texts.part(texts.names[d.distance], duration(d.device_ns), percent(d.share));

function Part({ part: d, inferred }: { part: DistanceRow; inferred: boolean }) {
  const key = columnOf(d.distance);
  return (
    <li data-key={d.distance} data-value={d.device_ns}>
      <i class={`swatch ${inferred ? "inferred" : ""}`} data-distance={d.distance} />
      <a
        {...linkProps({ list: null, filter: `${key}>0ns`, sort: `-${key}`, selected: null })}
        title={`${texts.help[d.distance]}\n${exactDuration(d.device_ns)}\n${texts.toRows}`}
        data-testid={`distance-${d.distance}`}
      >
        {texts.names[d.distance]}
      </a>{" "}
      <b>{percent(d.share)}</b>{" "}
      <span class="muted">
        {duration(d.device_ns)} {inferred && durationLimits(d.low_ns, d.high_ns)}
      </span>
    </li>
  );
}
