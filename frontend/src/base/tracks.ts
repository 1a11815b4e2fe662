// Where each track of a timeline lies: groups with a heading, tracks that are folded or not.

export interface TrackShape {
  id: number;
  group: string;
  rows: number;
  kind: string;
}

/** One line of the timeline: a heading, a track or a counter. */
export interface Line {
  kind: "group" | "track" | "counter";
  /** Of a track its number, of a counter its place in the list. */
  id: number;
  label: string;
  group: string;
  y: number;
  height: number;
  folded: boolean;
  pinned: boolean;
}

export const COUNTERS = "Counters";
export const ROW_PX = 17;
/** Below the rows of a track. */
export const GAP_PX = 7;
const GROUP_PX = 22;
const COUNTER_PX = 32;

/** What the reader changed: tracks whose folding is not the usual, tracks on top, no counters. */
export interface Arrangement {
  toggled: ReadonlySet<number>;
  pinned: readonly number[];
  counters: boolean;
}

/** `3,p5,c`: track 3 is folded other than usual, track 5 is pinned, the counters are folded. */
export function parseLanes(text: string | null): Arrangement {
  const all = (text ?? "").split(",");
  const words = all.filter((word) => /^p?\d{1,6}$/.test(word));
  return {
    counters: !all.includes("c"),
    toggled: new Set(words.filter((word) => !word.startsWith("p")).map(Number)),
    pinned: words.filter((word) => word.startsWith("p")).map((word) => Number(word.slice(1))),
  };
}

export function lanesText({ toggled, pinned, counters }: Arrangement): string | null {
  return [...toggled, ...pinned.map((id) => `p${id}`), ...(counters ? [] : ["c"])].join(",") || null;
}

/** Usually only Python's frames are folded: they are deep, and the operators tell most. */
export function isFolded(track: TrackShape, arrangement: Arrangement): boolean {
  return track.rows > 1 && (track.kind === "frames") !== arrangement.toggled.has(track.id);
}

/** Pinned tracks, steps, counters, devices, then threads by how much they have. */
export function layout(
  tracks: readonly (TrackShape & { label: string; ranges: number })[], counters: readonly { label: string }[], arrangement: Arrangement,
): Line[] {
  const lines: Line[] = [];
  let y = 0;
  const add = (line: Omit<Line, "y">): void => {
    lines.push({ ...line, y });
    y += line.height;
  };
  const heading = (group: string, folded = false): void => add({ kind: "group", id: -1, label: group, group, height: GROUP_PX, folded, pinned: false });
  const track = (one: (typeof tracks)[number], pinned: boolean): void => {
    const folded = isFolded(one, arrangement);
    add({ kind: "track", id: one.id, label: one.label, group: one.group, height: (folded ? 1 : Math.max(1, one.rows)) * ROW_PX + GAP_PX, folded, pinned });
  };
  const pinned = arrangement.pinned.flatMap((id) => tracks.find((one) => one.id === id) ?? []);
  const rest = tracks.filter((one) => !pinned.includes(one));
  if (pinned.length > 0) heading("Pinned");
  for (const one of pinned) track(one, true);
  for (const one of rest.filter((t) => t.kind === "steps")) track(one, false);
  if (counters.length > 0) heading(COUNTERS, !arrangement.counters);
  if (arrangement.counters) counters.forEach((counter, id) => add({ kind: "counter", id, label: counter.label, group: COUNTERS, height: COUNTER_PX, folded: false, pinned: false }));
  const groups = new Map<string, (typeof tracks)[number][]>();
  for (const one of rest.filter((t) => t.kind !== "steps")) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  const size = (of: (typeof tracks)[number][]): number => (of.some((t) => t.kind === "device") ? Infinity : 0) + of.reduce((sum, t) => sum + t.ranges, 0);
  const busiest = [...groups].map(([group, of]) => ({ group, of, size: size(of) })).sort((a, b) => (a.size === b.size ? 0 : b.size - a.size));
  for (const { group, of } of busiest) {
    heading(group);
    for (const one of of) track(one, false);
  }
  return lines;
}

export function heightOf(lines: readonly Line[]): number {
  const last = lines.at(-1);
  return last ? last.y + last.height : 0;
}
