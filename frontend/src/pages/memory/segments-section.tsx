// The segments of a memory snapshot: a bar for each, its blocks by category, free parts dotted.
import { useState } from "preact/hooks";
import type { MemorySegment, MemorySegments, RefusedAllocation, SegmentPiece } from "../../api/types";
import { bytes, percent } from "../../lib/format";
import { count } from "../../i18n/count";
import { memorySegments as texts } from "../../i18n/memory-segments";
import type { Resource } from "../../state/use-result";
import { KeyFigure } from "../../widgets/controls/key-figure";
import { CsvButton } from "../../widgets/table/csv-button";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import { Card } from "../shared/card";
import { CATEGORIES } from "./categories";
import "./segments.css";

export function SegmentsSection({ resource }: { resource: Resource<MemorySegments> }) {
  return (
    <Card title={texts.title} lines={6} resource={resource}>
      {(result) => <Content result={result} />}
    </Card>
  );
}

export function Content({ result }: { result: MemorySegments }) {
  const { segments } = result;
  const pending = segments.some((one) => one.pending_bytes > 0);
  const longest = Math.max(1, ...segments.map((one) => one.bytes));
  const [chosen, setChosen] = useState<{ segment: number; piece: number } | null>(null);
  const shown = segments.find((one) => one.segment === chosen?.segment)?.pieces[chosen?.piece ?? 0];
  return (
    <section data-testid="memory-segments" data-value={result.segments_total}>
      <h2 class="withcsv">
        {texts.title} <small class="muted">{texts.when}</small>
        <CsvButton name="memory-segments" rows={segments.flatMap(asRows)} />
      </h2>
      <Figures result={result} />
      {result.refused.length > 0 && (
        <ul aria-label={texts.refused} data-testid="refused">
          {result.refused.map((one) => (
            <li key={one.bytes} data-key={one.verdict} data-value={one.missing_bytes}>
              {sentence(one)}
            </li>
          ))}
        </ul>
      )}
      <p class="segment-piece" role="status" data-testid="segment-piece">
        {shown ? described(shown) : <span class="muted">{texts.point}</span>}
      </p>
      <table class="plain memory-segments">
        <HeadRow
          of={[
            { title: texts.segment.title, help: texts.segment.help },
            { title: texts.pool.title, help: texts.pool.help },
            numbers(texts.stream),
            { title: texts.picture.title, help: texts.picture.help },
            numbers(texts.size.title, texts.size.help),
            numbers(texts.inUse.title, texts.inUse.help),
            pending && numbers(texts.pending.title, texts.pending.help),
            numbers(texts.freeBytes.title, texts.freeBytes.help),
            numbers(texts.largestFree),
          ]}
        />
        <tbody>
          {segments.map((one) => (
            <Line
              key={one.segment}
              segment={one}
              longest={longest}
              pending={pending}
              at={chosen?.segment === one.segment ? chosen.piece : null}
              onPick={(piece) => setChosen({ segment: one.segment, piece })}
            />
          ))}
        </tbody>
      </table>
      {result.segments_total > segments.length && (
        <p class="muted">{texts.more(result.segments_total - segments.length)}</p>
      )}
      <Legend segments={segments} />
    </section>
  );
}

function Figures({ result }: { result: MemorySegments }) {
  const { free_bytes: free, reserved_bytes: reserved } = result;
  return (
    <div class="figures-row">
      <KeyFigure
        name="free_bytes"
        label={texts.free}
        exact={free}
        unit="B"
        note={texts.shareOf(percent(free / Math.max(reserved, 1)), bytes(reserved))}
        help={texts.freeHelp}
      />
      <KeyFigure
        name="largest_free_bytes"
        label={texts.largest}
        exact={result.largest_free_bytes}
        unit="B"
        note={texts.blocks(count(result.free_blocks))}
        help={texts.largestHelp}
      />
      <KeyFigure
        name="empty_bytes"
        label={texts.empty}
        exact={result.empty_bytes}
        unit="B"
        help={texts.emptyHelp}
      />
    </div>
  );
}

function sentence({ verdict, ...one }: RefusedAllocation): string {
  const [size, free, largest, missing] = [
    one.bytes,
    one.free_bytes,
    one.largest_free_bytes,
    one.missing_bytes,
  ].map((value) => bytes(value)) as [string, string, string, string];
  const said =
    verdict === "fits"
      ? texts.verdicts.fits(size, largest)
      : texts.verdicts[verdict](size, free, largest, missing);
  const left = one.device_free_bytes;
  if (left === null) return said;
  return `${said} ${left >= one.bytes ? texts.leftEnough(bytes(left)) : texts.left(bytes(left))}`;
}

/** A row of the CSV for each piece. */
const asRows = ({ segment, pool, stream, pieces }: MemorySegment): object[] =>
  pieces.map((piece) => ({ segment, pool, stream, ...piece }));

const labelOf = (piece: SegmentPiece): string =>
  piece.state === "in_use" && piece.category !== null
    ? CATEGORIES[piece.category].label
    : texts.states[piece.state];

function described(piece: SegmentPiece): string {
  const parts = [
    `${bytes(piece.bytes)} ${labelOf(piece)}`,
    texts.at(bytes(piece.offset_bytes)),
    piece.function,
    piece.blocks > 1 && texts.count(count(piece.blocks)),
    piece.state !== "free" && piece.free_bytes > 0 && texts.joined(bytes(piece.free_bytes)),
  ];
  return parts.filter(Boolean).join(" · ");
}

interface LineProps {
  segment: MemorySegment;
  longest: number;
  /** The piece that is described, null if it is one of another segment. */
  at: number | null;
  onPick: (piece: number) => void;
}

function Line({ pending, ...bar }: LineProps & { pending: boolean }) {
  const { segment } = bar;
  return (
    <tr data-key={segment.segment} data-value={segment.free_bytes}>
      <td>{segment.segment}</td>
      <td>{segment.pool}</td>
      <td class="number">{segment.stream ?? "–"}</td>
      <td class="segmentcell">
        <Bar {...bar} />
      </td>
      <td class="number">{bytes(segment.bytes)}</td>
      <td class="number">{bytes(segment.in_use_bytes)}</td>
      {pending && <td class="number">{bytes(segment.pending_bytes)}</td>}
      <td class="number">{bytes(segment.free_bytes)}</td>
      <td class="number">{bytes(segment.largest_free_bytes)}</td>
    </tr>
  );
}

/** A slider over the pieces: what it is on is its value, as text. */
function Bar({ segment, longest, at, onPick }: LineProps) {
  const { pieces } = segment;
  const onKey = (event: KeyboardEvent): void => {
    const to = { ArrowRight: (at ?? -1) + 1, ArrowLeft: (at ?? 1) - 1, Home: 0, End: pieces.length - 1 }[
      event.key
    ];
    if (to === undefined) return;
    event.preventDefault();
    onPick(Math.max(0, Math.min(pieces.length - 1, to)));
  };
  const piece = at === null ? undefined : pieces[at];
  return (
    <span
      class="segmentbar"
      role="slider"
      tabIndex={0}
      aria-label={texts.bar(segment.segment, bytes(segment.in_use_bytes), bytes(segment.free_bytes))}
      aria-valuemin={1}
      aria-valuemax={pieces.length}
      aria-valuenow={(at ?? 0) + 1}
      aria-valuetext={piece ? described(piece) : undefined}
      style={{ width: `${(100 * segment.bytes) / longest}%` }}
      onKeyDown={onKey}
      onFocus={() => onPick(at ?? 0)}
    >
      {pieces.map((one, i) => (
        <i
          key={one.offset_bytes}
          class={`${one.state} ${i === at ? "at" : ""}`}
          title={described(one)}
          style={{ "--fill": fillOf(one), width: `${(100 * one.bytes) / Math.max(segment.bytes, 1)}%` }}
          onPointerEnter={() => onPick(i)}
        />
      ))}
    </span>
  );
}

const fillOf = ({ state, category }: SegmentPiece): string =>
  state === "in_use" ? CATEGORIES[category ?? "unknown"].fill : "var(--muted)";

function Legend({ segments }: { segments: readonly MemorySegment[] }) {
  const known = new Map<string, SegmentPiece>();
  for (const piece of segments.flatMap((one) => one.pieces)) known.set(labelOf(piece), piece);
  return (
    <ul class="legend">
      {[...known].map(([label, piece]) => (
        <li key={label}>
          <i class={`swatch segment-${piece.state}`} style={{ "--fill": fillOf(piece) }} />
          {label}
        </li>
      ))}
    </ul>
  );
}
