// The one place of state: the page shows what its URL says. In TensorBoard that is the hash of the
// parent's URL, keys `p.privateuse1.<key>`, beside the keys of others.
import { signal } from "@preact/signals";
import { shown, top } from "../lib/tensorboard-host";
import { number, text, type UrlKeys, type Values } from "./url-key";

const PREFIX = "p.privateuse1.";
const TAB = "privateuse1";

/** The selected trace and page. Null is the default: first run, lowest rank, latest span, the steady part. */
const SELECTION_KEYS = {
  view: text([]),
  run: text([]),
  rank: number(["run"]),
  span: number(["run", "rank"]),
  step: number(["run", "rank", "span"]),
  /** `all`: everything, where figures are of the steady part by default; or a phase of serving. */
  window: text(["run", "rank", "span"]),
  /** The event whose record is open: `table/row`. Every change but its own closes it. */
  event: text([]),
};

/** The values of the pages' own keys: `pages/url-keys.ts` adds them. */
// biome-ignore lint/suspicious/noEmptyInterface: declarations of the pages are merged into it
export interface PageState {}
export interface State extends Values<typeof SELECTION_KEYS>, PageState {}

type Key = keyof State & string;

/** Selections by the name of a page that is no longer there. */
export type OldPages = Readonly<Record<string, Partial<State>>>;

let pages: Readonly<Record<string, UrlKeys>> = {};
let oldPages: OldPages = {};
/** The keys of all pages. */
let keys: UrlKeys = SELECTION_KEYS;

export const state = signal<State>(parse(""));

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

/** Reads the URL now and whenever it changes; called once, with the keys of each page, and with what
 * old links select now. */
export function follow(pageKeys: Readonly<Record<string, UrlKeys>>, old: OldPages = {}): void {
  pages = pageKeys;
  oldPages = old;
  keys = Object.assign({}, SELECTION_KEYS, ...Object.values(pages)) as UrlKeys;
  state.value = parse("");
  const read = (): void => {
    // While another tab is shown the URL is that tab's.
    if (!shown.value) return;
    const next = parse(currentHash());
    if (names().some((key) => next[key] !== state.value[key])) state.value = next;
  };
  read();
  top.addEventListener("hashchange", read);
  top.addEventListener("popstate", read);
  shown.subscribe(read);
}

/** The selection in a hash. What cannot be read is as if it were not there. */
export function parse(hash: string): State {
  const found: Record<string, string | number | null> = Object.fromEntries(names().map((key) => [key, null]));
  for (const part of parts(hash)) {
    const [name, value] = decoded(part);
    const key = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : "";
    if (value && Object.hasOwn(keys, key)) found[key] = keys[key]?.parse(value) ?? null;
  }
  return { ...(found as unknown as State), ...oldPages[found["view"] ?? ""] };
}

/** The hash with this selection; what belongs to others stays. */
export function serialize(hash: string, next: State): string {
  const others = parts(hash).filter((part) => !decoded(part)[0].startsWith(PREFIX));
  // TensorBoard's tab is the part without "=". A copied link must open ours.
  if (!others.some((part) => !part.includes("="))) others.unshift(TAB);
  const own = names().flatMap((key) => {
    const value = next[key];
    return value === null ? [] : [`${encodeURIComponent(PREFIX + key)}=${encodeURIComponent(value)}`];
  });
  return `#${[...others, ...own].join("&")}`;
}

/** What is chosen below something is reset with it, by the rules of the page that is shown. */
function withChanges(now: State, changes: Partial<State>): State {
  const changed = new Set<string>(names().filter((key) => key in changes && changes[key] !== now[key]));
  const rules: UrlKeys = {
    ...keys,
    ...(pages[now.view ?? ""] ?? Object.values(pages)[0]),
    ...SELECTION_KEYS,
  };
  const reset = Object.keys(rules).filter(
    (key) => key === "event" || rules[key]?.resetBy.some((by) => changed.has(by)),
  );
  return { ...now, ...Object.fromEntries(reset.map((key) => [key, null])), ...changes };
}

function names(): Key[] {
  return Object.keys(keys) as Key[];
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
