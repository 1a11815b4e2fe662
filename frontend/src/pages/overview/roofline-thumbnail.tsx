// A small roofline: roofs as lines, work as points; a click opens the page.
import type { Roofline } from "../../api/types";
import { linkProps } from "../../state/links";
import type { Selected } from "../../state/selection";
import { useView } from "../../state/use-result";
import { t } from "../../i18n";
import { Card } from "../shared/card";
import "./roofline-thumbnail.css";

const texts = t.rooflineThumbnail;

const WIDTH = 320;
const HEIGHT = 120;
const POINTS = 30;
const MOST_RADIUS = 9;

/** Nothing without a roof or without work that has a place under it. */
export function RooflineThumbnail({ selected }: { selected: Selected }) {
  const resource = useView("roofline", selected, { by: "kernel", limit: POINTS });
  return (
    <Card lines={5} resource={resource}>
      {(result) => <Picture result={result} />}
    </Card>
  );
}

interface Point {
  key: number;
  /** FLOP per byte. */
  intensity: number;
  /** FLOP per second. */
  rate: number;
  ns: number;
}

function Picture({ result }: { result: Roofline }) {
  const points = pointsOf(result);
  const bandwidth = result.roofs.find((r) => r.kind === "memory")?.rate;
  const used = result.roofs.filter((r) => r.kind === "compute" && r.device_ns > 0);
  const ceiling = Math.max(0, ...used.map((r) => r.rate));
  if (points.length === 0 || bandwidth === undefined || ceiling === 0) return null;
  const ridge = ceiling / bandwidth;
  const x = scale([ridge, ...points.map((p) => p.intensity)], 0, WIDTH);
  const y = scale([ceiling, ...points.map((p) => p.rate)], HEIGHT, 0);
  const [low, high] = [x.low, x.high].map((at) => Math.min(ceiling, at * bandwidth)) as [number, number];
  const most = Math.max(...points.map((p) => p.ns));
  return (
    <a
      class="thumbnail"
      {...linkProps({ view: "roofline" })}
      aria-label={texts.title(points.length)}
      title={texts.title(points.length)}
      data-testid="roofline-thumbnail"
      data-points={points.length}
    >
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
        <polyline
          points={`${x.at(x.low)},${y.at(low)} ${x.at(ridge)},${y.at(ceiling)} ${x.at(x.high)},${y.at(high)}`}
        />
        {points.map((p) => (
          <circle
            key={p.key}
            cx={x.at(p.intensity)}
            cy={y.at(p.rate)}
            r={Math.max(2, MOST_RADIUS * Math.sqrt(p.ns / most))}
          />
        ))}
      </svg>
      <small class="muted">{texts.axes}</small>
    </a>
  );
}

const pointsOf = ({ rows }: Roofline): Point[] =>
  rows.flatMap(({ longest_row: key, flops_per_byte: intensity, tflop_per_s: tera, device_ns: ns }) =>
    intensity === null || tera === null || intensity <= 0 || tera <= 0
      ? []
      : [{ key, intensity, rate: tera * 1e12, ns }],
  );

const MARGIN = 2;

/** A logarithmic scale with half of the range's edge free at both ends. */
function scale(values: readonly number[], from: number, to: number) {
  const low = Math.min(...values) / MARGIN;
  const high = Math.max(...values) * MARGIN;
  const at = (value: number): number =>
    from + ((to - from) * Math.log(Math.max(value, low) / low)) / Math.log(high / low);
  return { low, high, at };
}
