// Average breakdown of the complete steps, its spread, and the selected step for comparison.
import { useContext } from "preact/hooks";
import type { Average, Overview, Step } from "../../api/types";
import { color, DEVICE, LABELS, type Category } from "../../lib/color";
import { csv } from "../../lib/csv";
import { download } from "../../lib/dom";
import { boundOf, duration, exactDuration, percent, signedDuration } from "../../lib/format";
import { stepNumber } from "../../state/selection";
import { t } from "../../i18n";
import { WindowContext, type Windows } from "../../widgets/window-context";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import "./averages.css";

const texts = t.averages;

interface AveragesProps {
  all: Overview;
  /** Parts that the trace can tell of. */
  categories: readonly Category[];
  /** The selected step. */
  chosen: Step | null;
}

/** Nothing where there are not two steps to compare. */
export function Averages({ all, categories, chosen }: AveragesProps) {
  const windows = useContext(WindowContext);
  const { spread, averages } = all;
  const complete = all.step_counts.complete;
  if (spread === null || complete < 2) return null;
  const inferred = all.provenance.timeline === "inferred";
  const rows = averages.filter(
    (a) =>
      categories.includes(a.part as Category) &&
      ((a.max_ns ?? 0) > 0 || (chosen?.[`${a.part as Category}_ns`] ?? 0) > 0),
  );
  return (
    <section class="averages" data-testid="averages">
      <h2 class="withcsv">
        {texts.title} <small class="muted">{texts.of(complete)}</small>
        <button
          type="button"
          class="quiet"
          onClick={() => save(averages, windows)}
          data-testid="csv-averages"
          title={texts.save}
        >
          CSV
        </button>
      </h2>
      <table class="plain">
        <Heads chosen={chosen} />
        <tbody>
          {rows.map((a) => (
            <Line
              key={a.part}
              average={a}
              label={LABELS[a.part as Category]}
              category={a.part as Category}
              inferred={inferred}
              chosen={chosen?.[`${a.part as Category}_ns`] ?? null}
            />
          ))}
          <Line
            average={{ ...spread, part: "duration", share: 1 }}
            label={texts.whole}
            category={null}
            inferred={inferred}
            chosen={chosen?.duration_ns ?? null}
          />
        </tbody>
      </table>
    </section>
  );
}

function Heads({ chosen }: { chosen: Step | null }) {
  return (
    <HeadRow
      of={[
        texts.part,
        numbers(texts.mean),
        numbers(texts.share, texts.shareHelp),
        numbers("σ", texts.deviationHelp),
        numbers(texts.least),
        numbers(texts.most),
        ...(chosen
          ? [numbers(texts.step(stepNumber(chosen.name))), numbers(texts.difference, texts.differenceHelp)]
          : []),
      ]}
    />
  );
}

interface LineProps {
  average: Average;
  label: string;
  /** Null of the whole step. */
  category: Category | null;
  inferred: boolean;
  chosen: number | null;
}

function Line({ average: a, label, category, inferred, chosen }: LineProps) {
  // What is left to the host depends on inferred times, too.
  const off = inferred && a.bound_ns !== 0;
  const difference = chosen === null || a.mean_ns === null ? null : chosen - a.mean_ns;
  const cell = (ns: number | null, bound = false) => (
    <td
      class={off ? "number uncertain" : "number"}
      title={`${exactDuration(ns)}${bound && off ? ` ${boundOf(a.bound_ns, inferred)}` : ""}`}
    >
      {duration(ns)}
    </td>
  );
  return (
    <tr
      class={category === null ? "sum" : ""}
      data-key={a.part}
      data-value={a.mean_ns}
      data-bound={a.bound_ns ?? "unknown"}
    >
      <td>
        {category && (
          <i
            class={`swatch ${inferred && DEVICE.has(category) ? "inferred" : "measured"}`}
            style={{ "--fill": color(category) }}
          />
        )}
        {label}
      </td>
      {cell(a.mean_ns, true)}
      <td class="number">{percent(a.share)}</td>
      {cell(a.deviation_ns)}
      {cell(a.min_ns)}
      {cell(a.max_ns)}
      {chosen !== null && (
        <>
          {cell(chosen)}
          <td class={off ? "number uncertain" : "number"} title={exactDuration(difference)}>
            {signedDuration(difference)}
          </td>
        </>
      )}
    </tr>
  );
}

function save(averages: readonly Average[], windows: Windows): void {
  const names: (keyof Average)[] = [
    "part",
    "mean_ns",
    "share",
    "min_ns",
    "max_ns",
    "deviation_ns",
    "bound_ns",
  ];
  download(
    "averages.csv",
    csv(
      names,
      averages.map((a) => names.map((name) => a[name])),
      windows,
    ),
    "text/csv;charset=utf-8",
  );
}
