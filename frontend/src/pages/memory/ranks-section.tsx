// The memory of all ranks beside each other: a bar for each, by category at its peak.
import type { MemoryOfRank, MemoryRanks as Result } from "../../api/types";
import { bytes, percent, signedBytes } from "../../lib/format";
import { memoryRanks as texts } from "../../i18n/memory-ranks";
import { linkProps, ofRank } from "../../state/links";
import type { Resource } from "../../state/use-result";
import { CsvButton } from "../../widgets/table/csv-button";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import { Card } from "../shared/card";
import { CATEGORIES } from "./categories";
import "./ranks.css";

/** Bars beyond a screen tell nothing more: the fullest come first. */
const MOST = 32;
const NAMES = Object.keys(CATEGORIES) as (keyof typeof CATEGORIES)[];

export function RanksSection({ resource, step }: { resource: Resource<Result>; step: string | null }) {
  return (
    <Card title={texts.title} lines={6} resource={resource}>
      {(result) => <Content result={result} step={step} />}
    </Card>
  );
}

export function Content({ result, step }: { result: Result; step: string | null }) {
  const rows = [...result.rows].sort((a, b) => (b.peak_bytes ?? -1) - (a.peak_bytes ?? -1));
  const most = rows[0]?.peak_bytes ?? 0;
  const capacity = rows.some((row) => row.capacity_bytes !== null);
  return (
    <section data-testid="memory-ranks" data-value={result.fullest}>
      <h2 class="withcsv">
        {texts.title} <small class="muted">{step === null ? texts.ofRecording : texts.ofStep(step)}</small>
        <CsvButton name="memory-ranks" rows={result.rows} />
      </h2>
      <table class="plain memory-ranks">
        <HeadRow
          of={[
            texts.rank,
            { title: texts.split.title, help: texts.split.help },
            numbers(texts.peak.title, texts.peak.help),
            numbers(texts.above.title, texts.above.help),
            numbers(texts.reserved.title, texts.reserved.help),
            capacity && numbers(texts.capacity.title, texts.capacity.help),
            { title: texts.step.title, help: texts.step.help },
          ]}
        />
        <tbody>
          {rows.slice(0, MOST).map((row) => (
            <Line key={row.rank} row={row} most={most} capacity={capacity} />
          ))}
        </tbody>
      </table>
      {rows.length > MOST && <p class="muted">{texts.more(rows.length - MOST)}</p>}
      {result.without_totals.length > 0 && <p class="muted">{texts.without(result.without_totals)}</p>}
      <ul class="legend">
        {NAMES.filter((name) => rows.some((row) => row[`${name}_bytes`])).map((name) => (
          <li key={name} title={CATEGORIES[name].title}>
            <i class="swatch measured" style={{ "--fill": CATEGORIES[name].fill }} />
            {CATEGORIES[name].label}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Line({ row, most, capacity }: { row: MemoryOfRank; most: number; capacity: boolean }) {
  return (
    <tr data-key={row.rank} data-value={row.peak_bytes}>
      <td>
        <a {...linkProps({ view: "memory", ...ofRank(row.rank) })} title={row.worker}>
          {row.rank}
        </a>
      </td>
      <td>
        {row.problem ? <span class="muted">{row.problem.message}</span> : <Split row={row} most={most} />}
      </td>
      <td class="number">{bytes(row.peak_bytes)}</td>
      <td class="number">{row.above_least_bytes === null ? "–" : signedBytes(row.above_least_bytes)}</td>
      <td class="number">{bytes(row.peak_reserved_bytes)}</td>
      {capacity && (
        <td class="number">
          {row.capacity_bytes && row.peak_bytes !== null ? percent(row.peak_bytes / row.capacity_bytes) : "–"}
        </td>
      )}
      <td>{row.step ?? "–"}</td>
    </tr>
  );
}

/** The whole peak where no categories are known. */
function Split({ row, most }: { row: MemoryOfRank; most: number }) {
  const known = row.unknown_bytes !== null;
  const parts = known ? NAMES.map((name) => ({ name, size: row[`${name}_bytes`] ?? 0 })) : [];
  const shown = known ? parts : [{ name: "unknown" as const, size: row.peak_bytes ?? 0 }];
  return (
    <span
      class="rankbar"
      role="img"
      aria-label={shown.map(({ name, size }) => `${CATEGORIES[name].label} ${bytes(size)}`).join(", ")}
    >
      {shown
        .filter(({ size }) => size > 0)
        .map(({ name, size }) => (
          <i
            key={name}
            title={`${CATEGORIES[name].label} ${bytes(size)}`}
            style={{ "--fill": CATEGORIES[name].fill, width: `${(100 * size) / Math.max(most, 1)}%` }}
          />
        ))}
    </span>
  );
}
