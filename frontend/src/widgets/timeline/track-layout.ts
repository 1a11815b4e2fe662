// The layout of the timeline's tracks: ranks, groups with a heading, folded and open tracks.
import { t } from "../../i18n";

export interface TrackShape {
  /** Of all ranks that are shown: see `trackId`. */
  id: number;
  /** What the reader sees, and what the URL has in every language. */
  group: string;
  group_key: string;
  rows: number;
  kind: string;
  label: string;
  ranges: number;
  /** Of the thread that drives the training loop. */
  main: boolean;
  /** Whether it usually shows all of its rows. */
  open: boolean;
}

/** What is drawn of one rank. The first is the selected one. */
export interface Section {
  rank: number;
  /** Null where it is the only one. */
  title: string | null;
  /** What it is called before the name of a track. */
  short?: string;
  /** Whether it lies above the selected one. */
  above?: boolean;
  tracks: readonly TrackShape[];
  counters: readonly { label: string }[];
  /** Of each device, the busy time by family of kernels. */
  summaries: readonly { group_key: string; families: readonly string[] }[];
}

/** One line of the timeline: the heading of a rank or of a group, a device's summary, a track or a
 * counter. */
export interface Line {
  kind: "rank" | "group" | "summary" | "track" | "counter";
  /** Of a track its number, of a counter or a summary its place among those of all ranks. */
  id: number;
  label: string;
  /** Of a group and what is in it, its name in the URL; of a rank its number. */
  key: string;
  y: number;
  height: number;
  /** Of a track, the height of one of its rows. */
  row_px: number;
  /** Of a track, with its first row only; of a group, with its heading only; of a summary, without a
   * row for each family. */
  folded: boolean;
  pinned: boolean;
  /** Of a folded group, the tracks that it has. */
  tracks: readonly number[];
}

/** The heights of rows by the kind of their track, where the reader changed them. */
export type RowHeights = Readonly<Record<string, number>>;

export const ROW_PX = 17;
/** Below the rows of a track. */
export const GAP_PX = 7;
const GROUP_PX = 22;
export const COUNTER_PX = 32;
const SUMMARY_PX = 40;
/** Streams that take more than this begin closed: the main thread is on the first screen, too. */
const STREAMS_PX = 160;
/** More tracks than any rank has. */
const STRIDE = 1 << 16;

/** One number for a track of one of several ranks; the first rank's are their own. */
export const trackId = (section: number, track: number): number => section * STRIDE + track;
export const sectionOf = (id: number): number => Math.floor(id / STRIDE);
export const trackOf = (id: number): number => id % STRIDE;

/** A track in the URL: `5`, or `7.5` of a further rank's; `ranks` are the numbers of those shown. */
export const trackText = (id: number, ranks: readonly number[]): string =>
  (sectionOf(id) === 0 ? "" : `${ranks[sectionOf(id)]}.`) + String(trackOf(id));

/** The track that has this name in the URL; null if its rank is not shown. */
export function trackNamed(text: string, ranks: readonly number[]): number | null {
  const [, rank, track] = /^(?:(-1|\d{1,9})\.)?(\d{1,5})$/.exec(text) ?? [];
  const section = rank === undefined ? 0 : ranks.indexOf(Number(rank), 1);
  return track === undefined || section < 0 ? null : trackId(section, Number(track));
}

/** What the reader changed: tracks and groups whose folding is not the usual, tracks on top, groups
 * in another order. */
export interface Arrangement {
  toggled: ReadonlySet<number>;
  pinned: readonly number[];
  groups: ReadonlySet<string>;
  order: readonly string[];
  /** Tracks, and groups by their keys, that the reader hides. */
  hidden: ReadonlySet<number | string>;
  /** Words that a track has in its name or that of its group; others are not shown, but pinned ones. */
  only: string;
}

/** `3,p5,h6,g/Process 1,o/Device 0,wautograd`: track 3 and a group are folded other than
 * usual, track 5 is pinned, another hidden, a group comes first, only tracks with that word are shown. */
export function parseLanes(text: string | null, ranks: readonly number[]): Arrangement {
  const found = {
    toggled: new Set<number>(),
    pinned: [] as number[],
    groups: new Set<string>(),
    order: [] as string[],
    hidden: new Set<number | string>(),
    only: "",
  };
  for (const word of (text ?? "").split(",")) {
    const id = trackNamed(word.replace(/^[ph]/, ""), ranks);
    if (word.startsWith("w")) found.only = decoded(word.slice(1));
    else if (id !== null) {
      if (word.startsWith("p")) found.pinned.push(id);
      else if (word.startsWith("h")) found.hidden.add(id);
      else found.toggled.add(id);
    } else if (/^[goh](-1|\d*)\//.test(word)) {
      const key = decoded(word.slice(1));
      if (word.startsWith("g")) found.groups.add(key);
      else if (word.startsWith("h")) found.hidden.add(key);
      else found.order.push(key);
    }
  }
  return found;
}

export function lanesText(
  { toggled, pinned, groups, order, hidden, only }: Arrangement,
  ranks: readonly number[],
): string | null {
  const track = (id: number): string => trackText(id, ranks);
  const words = [
    [...toggled].map(track),
    pinned.map((id) => `p${track(id)}`),
    [...groups].map((key) => `g${encoded(key)}`),
    order.map((key) => `o${encoded(key)}`),
    [...hidden].map((one) => `h${typeof one === "number" ? track(one) : encoded(one)}`),
    only ? [`w${encoded(only)}`] : [],
  ];
  return words.flat().join(",") || null;
}

const encoded = (key: string): string => key.replace(/[%,]/g, encodeURIComponent);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Usually only those of Python's frames are folded that do not limit the steps: they are deep. */
export function isFolded(track: Pick<TrackShape, "id" | "rows" | "open">, arrangement: Arrangement): boolean {
  return track.rows > 1 && track.open === arrangement.toggled.has(track.id);
}

/** The set with one more, or without it. */
export function flipped<T>(set: ReadonlySet<T>, one: T): Set<T> {
  const next = new Set(set);
  if (!next.delete(one)) next.add(one);
  return next;
}

/** Whether a name has all these words. */
export function fits(words: string, name: string): boolean {
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => name.toLowerCase().includes(word));
}

/** What the group of counters is called in the URL. */
export const COUNTERS = "Counters";
/** Behind the name of a device's group: its families. */
const FAMILIES = "/families";

/** What most lines have not. */
const PLAIN = { row_px: 0, folded: false, pinned: false, tracks: [] };
const HEADING = { ...PLAIN, id: -1, height: GROUP_PX, row_px: GROUP_PX };

/** Lines as they come, and how. */
interface Drawing {
  lines: Line[];
  arrangement: Arrangement;
  heights: RowHeights;
}

/** Pinned tracks, then of each rank: steps, devices, counters, the main thread, others by how much they
 * have. Of further ranks usually only steps and devices are open. */
export function layout(
  sections: readonly Section[],
  arrangement: Arrangement,
  heights: RowHeights = {},
): Line[] {
  const drawing: Drawing = { lines: [], arrangement, heights };
  const all = sections.flatMap((section) => section.tracks.map((one) => ({ section, one })));
  const pinned = arrangement.pinned.flatMap((id) => all.find(({ one }) => one.id === id) ?? []);
  if (pinned.length > 0) addHeading(drawing, "group", t.trackLayout.pinned, "");
  for (const { section, one } of pinned) {
    const label = section.title === null ? one.label : `${section.short ?? section.rank}: ${one.label}`;
    addTrack(drawing, { ...one, label }, "", true);
  }
  const first = { counter: 0, summary: 0 };
  const numbered = sections.map((section, at) => {
    const own = { ...first };
    first.counter += section.counters.length;
    first.summary += section.summaries.length;
    return { section, at, first: own };
  });
  for (const { section, at, first: own } of [
    ...numbered.filter((one) => one.section.above),
    ...numbered.filter((one) => !one.section.above),
  ])
    addSection(drawing, section, at, own);
  return drawing.lines;
}

function add({ lines }: Drawing, line: Omit<Line, "y">): void {
  lines.push({ ...line, y: heightOf(lines) });
}

/** `hidden` are the tracks of a group that is folded. */
function addHeading(
  drawing: Drawing,
  kind: "rank" | "group",
  label: string,
  key: string,
  hidden: readonly number[] | null = null,
): void {
  add(drawing, { ...HEADING, kind, label, key, folded: hidden !== null, tracks: hidden ?? [] });
}

function addTrack(drawing: Drawing, one: TrackShape, key: string, pinned: boolean): void {
  const folded = isFolded(one, drawing.arrangement);
  const row_px = drawing.heights[one.kind] ?? ROW_PX;
  const height = (folded ? 1 : Math.max(1, one.rows)) * row_px + GAP_PX;
  add(drawing, {
    ...PLAIN,
    kind: "track",
    id: one.id,
    label: one.label,
    key,
    height,
    row_px,
    folded,
    pinned,
  });
}

/** One row, or one for each family. */
function addSummary(
  drawing: Drawing,
  section: Section,
  group: { key: string; groupKey: string },
  first: number,
): void {
  const at = section.summaries.findIndex((one) => one.group_key === group.groupKey);
  const families = section.summaries[at]?.families.length ?? 0;
  if (families === 0) return;
  const key = group.key + FAMILIES;
  const open = drawing.arrangement.groups.has(key);
  add(drawing, {
    ...PLAIN,
    kind: "summary",
    id: first + at,
    label: t.trackLayout.busy,
    key,
    height: open ? families * ROW_PX + GAP_PX : SUMMARY_PX,
    row_px: open ? ROW_PX : SUMMARY_PX,
    folded: !open,
  });
}

interface Group {
  key: string;
  /** The same without the rank. */
  groupKey: string;
  group: string;
  tracks: TrackShape[];
  kind: "device" | "counters" | "threads";
}

/** `at` is the place of the rank; `first` are those of its first counter and summary among those of all
 * ranks. */
function addSection(
  drawing: Drawing,
  section: Section,
  at: number,
  first: { counter: number; summary: number },
): void {
  const { arrangement, heights } = drawing;
  const has = (name: string): boolean => fits(arrangement.only, name);
  const keyOf = (group: string): string => `${at === 0 ? "" : section.rank}/${group}`;
  if (section.title !== null) addHeading(drawing, "rank", section.title, String(section.rank));
  const rest = section.tracks.filter(
    (one) =>
      !arrangement.pinned.includes(one.id) &&
      !arrangement.hidden.has(one.id) &&
      (one.kind === "steps" || has(`${one.group} ${one.label}`)),
  );
  const counted = section.counters.flatMap((counter, i) =>
    has(`${t.trackLayout.counters} ${counter.label}`)
      ? [{ label: counter.label, id: first.counter + i }]
      : [],
  );
  for (const one of rest.filter((one) => one.kind === "steps"))
    addTrack(drawing, one, keyOf(one.group_key), false);
  const groups = grouped(rest, counted.length > 0)
    .map((one) => ({ ...one, key: keyOf(one.groupKey) }))
    .filter((one) => !arrangement.hidden.has(one.key));
  const usual = usuallyClosed(groups, drawing, at);
  for (const one of reordered(groups, arrangement.order)) {
    const { key, group, tracks, kind } = one;
    const closed = usual(one) !== arrangement.groups.has(key);
    addHeading(drawing, "group", group, key, closed ? tracks.map((track) => track.id) : null);
    if (kind === "device") addSummary(drawing, section, one, first.summary);
    if (closed) continue;
    for (const track of tracks) addTrack(drawing, track, key, false);
    const height = heights["counter"] ?? COUNTER_PX;
    if (kind === "counters")
      for (const { id, label } of counted)
        add(drawing, { ...PLAIN, kind: "counter", id, label, key, height });
  }
}

/** Which groups of a rank are usually closed: counters unless the reader looks for some, many streams, and
 * threads of further ranks. */
function usuallyClosed(groups: readonly Group[], { heights, arrangement }: Drawing, at: number) {
  const streams = groups.filter((one) => one.kind === "device").flatMap((one) => one.tracks);
  const tall = streams.reduce((sum, one) => sum + one.rows * (heights[one.kind] ?? ROW_PX) + GAP_PX, 0);
  return ({ kind }: Group): boolean =>
    kind === "counters" ? arrangement.only === "" : kind === "device" ? tall > STREAMS_PX : at > 0;
}

/** Devices, counters, then threads: first of all the main one with its process, others by how much they
 * have. */
function grouped(tracks: readonly TrackShape[], counters: boolean): Omit<Group, "key">[] {
  const groups = new Map<string, TrackShape[]>();
  for (const one of tracks)
    if (one.kind !== "steps") groups.set(one.group_key, [...(groups.get(one.group_key) ?? []), one]);
  const size = (of: readonly TrackShape[]): number =>
    of.some((one) => one.main) ? Infinity : of.reduce((sum, one) => sum + one.ranges, 0);
  const all = [...groups].map(([groupKey, of]): Omit<Group, "key"> & { size: number } => ({
    groupKey,
    group: of[0]?.group ?? groupKey,
    tracks: [...of.filter((one) => one.main), ...of.filter((one) => !one.main)],
    kind: of.some((one) => one.kind === "device") ? "device" : "threads",
    size: size(of),
  }));
  const sized = all.sort((a, b) => (a.size === b.size ? 0 : b.size - a.size));
  const heading: Omit<Group, "key"> = {
    groupKey: COUNTERS,
    group: t.trackLayout.counters,
    tracks: [],
    kind: "counters",
  };
  return [
    ...sized.filter((one) => one.kind === "device"),
    ...(counters ? [heading] : []),
    ...sized.filter((one) => one.kind === "threads"),
  ];
}

/** Those that the reader has put in order take, in it, the places that they have together. */
function reordered(groups: readonly Group[], order: readonly string[]): Group[] {
  const moved = order.flatMap((key) => groups.find((group) => group.key === key) ?? []);
  return groups
    .map((group) => (moved.includes(group) ? undefined : group))
    .map((group) => group ?? moved.shift())
    .filter((group) => group !== undefined);
}

/** The order in which a group stands one place higher among those of its rank. */
export function raised(lines: readonly Line[], key: string, order: readonly string[]): string[] {
  const rank = key.slice(0, key.indexOf("/") + 1);
  const keys = lines
    .filter((line) => line.kind === "group" && line.key.startsWith(rank))
    .map((line) => line.key);
  const at = keys.indexOf(key);
  if (at > 0) keys.splice(at - 1, 2, key, keys[at - 1] ?? "");
  return [...order.filter((other) => !keys.includes(other)), ...keys];
}

export function heightOf(lines: readonly Line[]): number {
  const last = lines.at(-1);
  return last ? last.y + last.height : 0;
}
