// The one place of state: what the page shows is what its URL says. In TensorBoard that is the
// hash of the parent's URL, keys `p.privateuse1.<key>`, beside the keys of others.
import { signal } from "@preact/signals";
import { shown, top } from "../lib/tensorboard-host";

const PREFIX = "p.privateuse1.";
const TAB = "privateuse1";

/** The whole selection. Null is the default: first run, lowest rank, latest span, all steps. */
export interface State {
  view: string | null;
  run: string | null;
  rank: number | null;
  span: number | null;
  step: number | null;
  /** The rest belongs to the page: table order, filter expression, grouping. */
  sort: string | null;
  filter: string | null;
  group: string | null;
  /** The columns of tables, if they are not those shown at first: `kernels:launch_ns,-calls;instances:-place`. */
  columns: string | null;
  /** Of the memory page: which device, which part of the recording (`start..end` in ns), and what
   * the chart's axis shows. */
  device: string | null;
  range: string | null;
  scale: string | null;
  /** Of trees and flame graphs: by which time, what is shown, where it starts, which row stands out. */
  by: string | null;
  levels: string | null;
  zoom: string | null;
  selected: string | null;
  /** What is compared with: a run, rank, span and step of its own. */
  base: string | null;
  baserank: number | null;
  basespan: number | null;
  basestep: number | null;
  /** Of the advice: the rules whose findings were put aside, separated by commas. */
  aside: string | null;
  /** Of the what-if page: the changes to predict, one a line. */
  changes: string | null;
  /** Of the timeline: the critical path is shown. */
  critical: string | null;
  /** The event whose record is open: `table/row`. */
  event: string | null;
  /** Of the timeline: the selected range (`kernels:12`), the text searched for, tracks folded or
   * pinned other than usual, marks (`ns,ns`), the selected stretch of time (`start..stop@3,7`). */
  item: string | null;
  find: string | null;
  lanes: string | null;
  marks: string | null;
  area: string | null;
  /** Further ranks on the timeline: `3,17`. */
  ranks: string | null;
  /** What the timeline's colours tell, if not the kind of each range: `name`, `module`. */
  colors: string | null;
  /** The query of the SQL page. */
  sql: string | null;
}

const NUMBERS = new Set<keyof State>(["rank", "span", "step", "baserank", "basespan", "basestep"]);
const EMPTY: State = {
  view: null, run: null, rank: null, span: null, step: null, sort: null, filter: null, group: null, columns: null, device: null, range: null, scale: null, by: null, levels: null, zoom: null, selected: null, aside: null, changes: null, critical: null, base: null, baserank: null, basespan: null, basestep: null, event: null,
  item: null, find: null, lanes: null, marks: null, area: null, ranks: null, colors: null, sql: null,
};
const KEYS = Object.keys(EMPTY) as (keyof State)[];

export const state = signal<State>(EMPTY);

/** Changes the selection and the URL; `replace` leaves no entry in the history. That is for what
 * settles late (a filter, a camera), which closes no record that was opened meanwhile. */
export function go(changes: Partial<State>, how: "push" | "replace" = "push"): void {
  const next = withChanges(state.value, how === "push" ? changes : { event: state.value.event, ...changes });
  state.value = next;
  const before = currentHash();
  const hash = serialize(before, next);
  if (hash === before) return;
  if (how === "push") top.location.hash = hash;
  // Not the hash alone: that would be resolved against the <base> of a page of our own.
  else top.history.replaceState(top.history.state, "", new URL(hash, top.location.href));
}

/** A link to the page with these changes, for `href` and for copying. */
export function linkTo(changes: Partial<State>): string {
  return new URL(serialize(currentHash(), withChanges(state.value, changes)), top.location.href).href;
}

/** Reads the URL now and whenever it changes; called once. */
export function follow(): void {
  const read = (): void => {
    // While another tab is shown the URL is that tab's.
    if (!shown.value) return;
    const next = parse(currentHash());
    if (KEYS.some((key) => next[key] !== state.value[key])) state.value = next;
  };
  read();
  top.addEventListener("hashchange", read);
  top.addEventListener("popstate", read);
  shown.subscribe(read);
}

/** The selection in a hash. What cannot be read is as if it were not there. */
export function parse(hash: string): State {
  const found: Record<string, string | number | null> = { ...EMPTY };
  for (const part of parts(hash)) {
    const [name, text] = decoded(part);
    const key = KEYS.find((k) => name === PREFIX + k);
    if (key === undefined || !text) continue;
    if (!NUMBERS.has(key)) found[key] = text;
    else if (/^\d{1,15}$/.test(text)) found[key] = Number(text);
  }
  return found as unknown as State;
}

/** The hash with this selection; what belongs to others stays. */
export function serialize(hash: string, next: State): string {
  const others = parts(hash).filter((part) => !decoded(part)[0].startsWith(PREFIX));
  // TensorBoard's tab is the part without "=". A copied link must open ours.
  if (!others.some((part) => !part.includes("="))) others.unshift(TAB);
  const own = KEYS.flatMap((key) => {
    const value = next[key];
    return value === null ? [] : [`${encodeURIComponent(PREFIX + key)}=${encodeURIComponent(value)}`];
  });
  return `#${[...others, ...own].join("&")}`;
}

const TIMELINE = ["item", "find", "lanes", "marks", "area", "critical"] as const;

/** A row of a table that is chosen by its number, which is that of one recording and step. */
const ROW = /^(calls:)?\d+$/;

/** What is chosen below something goes with it: another page has its own sort and filter. */
function withChanges(now: State, changes: Partial<State>): State {
  const next = { ...now };
  if (!("event" in changes)) next.event = null;
  const reset = (...keys: (keyof State)[]): void => void Object.assign(next, Object.fromEntries(keys.map((k) => [k, null])));
  if ("view" in changes && changes.view !== now.view) reset("sort", "filter", "group", "columns", "device", "range", "scale", "by", "levels", "zoom", "selected", "ranks", "colors", ...TIMELINE);
  if ("run" in changes && changes.run !== now.run) reset("aside", "changes", "rank", "span", "step", "device", "range", "zoom", "ranks", ...TIMELINE);
  if ("rank" in changes && changes.rank !== now.rank) reset("span", "step", "device", "range", "zoom", ...TIMELINE);
  if ("span" in changes && changes.span !== now.span) reset("step", "range", "zoom", ...TIMELINE);
  if ("step" in changes && changes.step !== now.step) reset("range", "zoom");
  if ((["run", "rank", "span", "step"] as const).some((key) => key in changes && changes[key] !== now[key]) && ROW.test(now.selected ?? "")) reset("selected");
  if ("base" in changes && changes.base !== now.base) reset("baserank", "basespan", "basestep");
  if ("baserank" in changes && changes.baserank !== now.baserank) reset("basespan", "basestep");
  if ("basespan" in changes && changes.basespan !== now.basespan) reset("basestep");
  return { ...next, ...changes };
}

function parts(hash: string): string[] {
  return hash.replace(/^#/, "").split("&").filter(Boolean);
}

function decoded(part: string): [string, string] {
  const at = part.indexOf("=");
  const [name, text] = at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
  try {
    return [decodeURIComponent(name), decodeURIComponent(text)];
  } catch {
    return [name, ""];
  }
}

/** Not `location.hash`: some browsers decode it. */
function currentHash(): string {
  const { href } = top.location;
  const at = href.indexOf("#");
  return at < 0 ? "" : href.slice(at);
}
