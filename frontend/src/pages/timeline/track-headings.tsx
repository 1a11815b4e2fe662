// The labels on the left of the timeline: fold and unfold tracks and groups, pin and move them.
import { useState } from "preact/hooks";
import type { Counter, Curves, Track } from "../../api/types";
import { count, counted, duration, percent } from "../../lib/format";
import { Edge } from "../../widgets/controls/edge";
import { COUNTERS, type Line } from "../../widgets/timeline/track-layout";
import { t } from "../../i18n";
import { greatest } from "../../widgets/timeline/painter";
import { trackIn, type DrawnScene, type Lane } from "./lanes";
import { isMenuKey, TrackMenu, type MenuActions, type MenuPlace } from "./track-menu";
import { LEAST_ROW_PX, MOST_ROW_PX } from "./use-sizes";
import "./track-headings.css";

const texts = t.trackHeadings;
/** The kind of counters among those of tracks. */
const COUNTER = "counter";

interface HeadsProps extends MenuActions {
  lines: readonly Line[];
  lanes: readonly Lane[];
  /** Of all ranks. */
  counters: readonly Counter[];
  curves: Curves;
  devices: DrawnScene["devices"];
  /** The tracks that the selected interval is on; null if it is on all, or there is none. */
  chosen: readonly number[] | null;
  onChoose: (id: number) => void;
  onToggle: (id: number) => void;
  /** A pinned track, one place higher. */
  onLift: (id: number) => void;
  onGroup: (key: string) => void;
  onRaise: (key: string) => void;
  onLeave: (rank: number) => void;
  /** The height of the rows of all tracks of a kind; null for the usual one. */
  onRow: (kind: string, px: number | null) => void;
}

/** Which tracks are shown, by words of their names. */
export function TrackFilter({
  only,
  none,
  set,
}: {
  only: string;
  none: boolean;
  set: (only: string) => void;
}) {
  return (
    <input
      type="search"
      class={none ? "only wrong" : "only"}
      data-testid="only-tracks"
      value={only}
      placeholder={texts.only}
      aria-label={texts.only}
      aria-invalid={none}
      title={none ? texts.onlyNone : texts.onlyHelp}
      spellcheck={false}
      autocomplete="off"
      onInput={(e) => set(e.currentTarget.value.trimStart())}
      onKeyDown={(e) => {
        if (e.key === "Escape") {
          e.stopPropagation();
          set("");
        }
      }}
    />
  );
}

export function TrackHeadings(props: HeadsProps) {
  const [menu, setMenu] = useState<MenuPlace | null>(null);
  const open = (event: MouseEvent | KeyboardEvent, x: number, y: number): void => {
    const head = (event.target as Element).closest<HTMLElement>(".track-head");
    const line = head && props.lines.find((one) => one.y === head.offsetTop);
    if (!line || line.kind === "rank" || (line.kind === "group" && line.key === "")) return;
    event.preventDefault();
    event.stopPropagation();
    setMenu({ line, x, y });
  };
  return (
    <div
      onContextMenu={(e) => open(e, e.clientX, e.clientY)}
      onKeyDown={(e) => {
        if (!isMenuKey(e)) return;
        const { left, bottom } = (e.target as Element).getBoundingClientRect();
        open(e, left, bottom);
      }}
    >
      {menu && <TrackMenu at={menu} {...props} close={() => setMenu(null)} />}
      {props.lines.map((line) => (
        <Head
          key={`${line.kind}${line.kind === "track" || line.kind === "counter" ? line.id : line.key}`}
          line={line}
          {...props}
        />
      ))}
    </div>
  );
}

function Head({ line, ...props }: HeadProps) {
  switch (line.kind) {
    case "counter":
      return <CounterHead line={line} {...props} />;
    case "rank":
      return <RankHead line={line} {...props} />;
    case "group":
      return <GroupHead line={line} {...props} />;
    case "summary":
      return <SummaryHead line={line} {...props} />;
    case "track":
      return <TrackHead line={line} {...props} />;
  }
}

type HeadProps = { line: Line } & HeadsProps;

const styleOf = ({ y, height }: Line) => ({ top: `${y}px`, height: `${height}px` });

interface RowEdgeProps extends Pick<HeadProps, "line" | "lines" | "lanes" | "onRow"> {
  kind: string;
  /** How many rows the line shows. */
  rows: number;
}

/** The lower edge of a track, or of a counter: all of its kind become higher. The tab key reaches the
 * first one of each kind. */
function RowEdge({ line, lines, lanes, kind, rows, onRow }: RowEdgeProps) {
  const kindOf = (one: Line): string | undefined =>
    one.kind === "counter" ? COUNTER : one.kind === "track" ? trackIn(lanes, one.id)?.kind : undefined;
  return (
    <Edge
      class="rowedge"
      testid="row-edge"
      label={t.widgets.rowsEdge(texts.trackKinds[kind as keyof typeof texts.trackKinds])}
      help={t.widgets.edgeHelp}
      direction="down"
      size={line.kind === "counter" ? line.height : line.row_px}
      least={LEAST_ROW_PX}
      most={MOST_ROW_PX}
      reachable={lines.find((one) => kindOf(one) === kind) === line}
      scale={1 / rows}
      set={(px) => onRow(kind, px)}
    />
  );
}

function CounterHead({ line, lines, lanes, counters, curves, onRow }: HeadProps) {
  const counter = counters[line.id];
  if (!counter) return null;
  return (
    <div
      class="track-head counter"
      style={styleOf(line)}
      title={`${line.label}\n${texts.counters[counter.what]}`}
      data-testid="counter"
      data-what={counter.what}
    >
      <span>{texts.short(line.label)}</span>
      <small>
        <span title={texts.top}>{counted(greatest(counter, curves), counter.unit)}</span>
        {counter.inferred && texts.inferred}
      </small>
      <RowEdge {...{ line, lines, lanes, onRow }} kind={COUNTER} rows={1} />
    </div>
  );
}

/** A device's summary: its busy share, or that of each family. */
function SummaryHead({ line, lanes, devices, onGroup }: HeadProps) {
  const device = devices[line.id];
  if (!device) return null;
  const whole = lanes[0]?.base.end_ns ?? 0;
  const share = (ns: number): string => percent(whole > 0 ? ns / whole : null);
  const busy = share(device.families.reduce((sum, one) => sum + one.busy_ns, 0));
  const rows = line.folded
    ? [{ label: line.label, busy }]
    : device.families.map((one) => ({ label: t.operators.categories[one.kind], busy: share(one.busy_ns) }));
  return (
    <div
      class={line.folded ? "track-head summary" : "track-head summary open"}
      style={styleOf(line)}
      title={`${line.label}: ${texts.busyShare(busy)}\n${texts.busyHelp}`}
      data-testid="summary"
      data-folded={line.folded}
    >
      <button
        type="button"
        class="quiet"
        aria-expanded={!line.folded}
        aria-label={folds(line.folded, texts.families)}
        onClick={() => onGroup(line.key)}
      >
        {line.folded ? "▸" : "▾"}
      </button>
      <div>
        {rows.map((row) => (
          <div key={row.label}>
            <span>{row.label}</span>
            <small>{row.busy}</small>
          </div>
        ))}
      </div>
    </div>
  );
}

function RankHead({ line, lanes, onLeave }: HeadProps) {
  const first = lanes[0]?.rank === Number(line.key);
  return (
    <div
      class="track-head group rank"
      style={styleOf(line)}
      title={line.label}
      data-testid="rank-head"
      data-rank={line.key}
    >
      <span>{line.label}</span>
      {!first && (
        <button
          type="button"
          class="quiet"
          aria-label={texts.removeRank(line.key)}
          title={texts.removeRankHelp}
          onClick={() => onLeave(Number(line.key))}
        >
          ✕
        </button>
      )}
    </div>
  );
}

function GroupHead({ line, onGroup, onRaise }: HeadProps) {
  if (!line.key)
    return (
      <div class="track-head group" style={styleOf(line)}>
        {line.label}
      </div>
    );
  const ofCounters = line.key.endsWith(`/${COUNTERS}`);
  return (
    <div
      class="track-head group"
      style={styleOf(line)}
      title={line.label}
      data-testid="group-head"
      data-folded={line.folded}
      data-key={line.key}
    >
      <button
        type="button"
        class="quiet"
        aria-expanded={!line.folded}
        aria-label={folds(line.folded, ofCounters ? texts.allCounters : line.label)}
        onClick={() => onGroup(line.key)}
        data-testid={ofCounters ? "counters" : undefined}
      >
        {line.folded ? "▸" : "▾"}
      </button>
      <span>{line.label}</span>
      <MoveUp label={line.label} onClick={() => onRaise(line.key)} />
    </div>
  );
}

function TrackHead({ line, lines, lanes, chosen, onChoose, onToggle, onRow, ...on }: HeadProps) {
  const track = trackIn(lanes, line.id);
  if (!track) return null;
  return (
    <div
      class="track-head"
      style={styleOf(line)}
      data-testid="track"
      data-id={line.id}
      data-kind={track.kind}
      data-folded={line.folded}
      title={`${line.label}\n${noteOf(track)}`}
    >
      {track.rows > 1 ? (
        <button
          type="button"
          class="quiet"
          aria-expanded={!line.folded}
          aria-label={folds(line.folded, line.label)}
          onClick={() => onToggle(line.id)}
        >
          {line.folded ? "▸" : "▾"}
        </button>
      ) : (
        <i />
      )}
      <span>{line.label}</span>
      {chosen && track.kind !== "steps" && (
        <input
          type="checkbox"
          checked={chosen.includes(line.id)}
          aria-label={texts.selectedOn(line.label)}
          title={texts.selectedOnHelp}
          data-testid="choose-track"
          onChange={() => onChoose(line.id)}
        />
      )}
      <Pins line={line} {...on} />
      <RowEdge
        {...{ line, lines, lanes, onRow }}
        kind={track.kind}
        rows={line.folded ? 1 : Math.max(1, track.rows)}
      />
    </div>
  );
}

function MoveUp({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <button
      type="button"
      class="quiet pin"
      aria-label={texts.moveUpOf(label)}
      title={texts.moveUp}
      onClick={onClick}
    >
      ↑
    </button>
  );
}

/** Pins a track, and moves a pinned one up. */
function Pins({ line, onLift, onPin }: Pick<HeadProps, "line" | "onLift" | "onPin">) {
  return (
    <>
      {line.pinned && <MoveUp label={line.label} onClick={() => onLift(line.id)} />}
      <button
        type="button"
        class="quiet pin"
        aria-pressed={line.pinned}
        aria-label={texts.pinOf(line.label)}
        title={texts.pin}
        onClick={() => onPin(line.id)}
      >
        {line.pinned ? "★" : "☆"}
      </button>
    </>
  );
}

const folds = (folded: boolean, what: string): string => (folded ? texts.unfold(what) : texts.fold(what));

function noteOf(track: Track): string {
  const note = texts.note(count(track.ranges), track.rows, duration(track.busy_ns));
  return track.hidden > 0 ? texts.hidden(note, count(track.hidden)) : note;
}
