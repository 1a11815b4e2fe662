// The navigation: six entries in the order of the work, and the pages behind each as its tabs. What a
// recording has nothing of is left out.
import type { Overview } from "../api/types";
import { firstWord, quote } from "../lib/filter";
import type { State } from "../state/url";
import { t } from "../i18n";
import type { Partial as PartialKind } from "./shared/partial-recording";

type Content = Overview["contents"][number];

export interface Entry {
  name: string;
  title: string;
  /** A path on a grid of 16 by 16, drawn as lines. */
  icon: string;
  /** The names of its pages: the first that the recording has something for opens. */
  pages: readonly string[];
}

export interface Tab {
  key: string;
  title: string;
  to: Partial<State>;
  isCurrent: boolean;
}

/** Tabs of one choice. */
export interface TabGroup {
  label: string;
  tabs: readonly Tab[];
}

/** What is known of the recording that the pages show. */
export interface Known {
  /** Null while it is being read. */
  contents: readonly Content[] | null;
  /** What it lacks of what options record, and why. */
  absent: Overview["absent"];
  ranks: number;
  partial: PartialKind | null;
  /** Whether this server answers SQL for this browser. */
  sql: boolean;
}

const texts = t.entries;

const TITLES: Readonly<Record<string, string>> = {
  ...t.pageTitles,
  counters: t.counters.title,
  history: t.history.title,
};

const ENTRIES: readonly Entry[] = [
  {
    name: "summary",
    title: texts.summary,
    icon: "M2.5 13.5v-5h3v5zM6.5 13.5v-11h3v11zM10.5 13.5v-7h3v7z",
    pages: ["overview", "advice", "whatif"],
  },
  {
    name: "timeline",
    title: texts.timeline,
    icon: "M1.5 2.5h6v2h-6zM5.5 7h8v2h-8zM3.5 11.5h4v2h-4zM10.5 11.5h4v2h-4z",
    pages: ["timeline", "counters"],
  },
  {
    name: "time",
    title: texts.time,
    icon: "M2.5 3.5h11M2.5 8h7M2.5 12.5h4",
    pages: ["operators", "kernels", "runtime", "modules", "flame", "roofline"],
  },
  {
    name: "memory",
    title: texts.memory,
    icon: "M1.5 13.5v-3h3v-3h3v-4h3v6h4v4z",
    pages: ["memory"],
  },
  {
    name: "ranks",
    title: texts.ranks,
    icon: "M8 1.5v4M3 10.5l3.4-3M13 10.5l-3.4-3M6 7.5a2 2 0 1 0 4 0a2 2 0 1 0-4 0M1.5 12a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0M11.1 12a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0",
    pages: ["distributed"],
  },
  {
    name: "compare",
    title: texts.compare,
    icon: "M4 2v9M1.5 8.5L4 11l2.5-2.5M12 14V5M9.5 7.5L12 5l2.5 2.5M8 1.5v13",
    pages: ["history", "diff"],
  },
  {
    name: "sql",
    title: texts.sql,
    icon: "M2.5 4c0-3 11-3 11 0v8c0 3-11 3-11 0zM2.5 4c0 3 11 3 11 0M2.5 8c0 3 11 3 11 0",
    pages: ["sql"],
  },
];

/** The entry of a page; null of the recording's own, which its badge opens. */
export const entryOf = (page: string): Entry | null => ENTRIES.find((e) => e.pages.includes(page)) ?? null;

/** The entries with something to show. Until the recording is read, none of its own is left out. */
export const entriesOf = (known: Known): readonly Entry[] => ENTRIES.filter((e) => isShown(e, known));

function isShown({ name }: Entry, { contents, ranks, partial, sql }: Known): boolean {
  if (name === "memory") return contents === null || contents.includes("memory");
  if (name === "ranks") return ranks > 1 || partial === "flight_recorder_alone";
  return name !== "sql" || sql;
}

/** What is lacking, in words, and where it is explained. */
interface Lack {
  key: string;
  title: string;
  to: Partial<State>;
}

const HOW_TO_RECORD = { view: "recording", section: "recorded" };

/** What the recording lacks of what a page, tab or column needs. */
export function absentOf({ contents, absent, ranks, partial }: Known): readonly Lack[] {
  if (contents === null) return [];
  // No option of torch's profiler changes what a snapshot has, or a flight recorder.
  const optional = (partial === null ? absent : []).map(({ content, reason }) => ({
    key: content,
    title: texts.bring[content as keyof typeof texts.bring](reason),
    // The page of memory says why it has nothing.
    to: content === "memory" ? { view: "memory" } : HOW_TO_RECORD,
  }));
  return ranks > 1 ? optional : [...optional, { key: "ranks", title: texts.otherRanks, to: HOW_TO_RECORD }];
}

type Drawing = keyof typeof texts.drawings;

/** What the rows of "where time goes" can be, and the page of each drawing of them. */
const ROWS: Record<keyof typeof texts.rows, Partial<Record<Drawing, Partial<State>>>> = {
  operators: {
    table: { view: "operators" },
    flame: { view: "flame", levels: "operators" },
    roofline: { view: "roofline" },
  },
  kernels: { table: { view: "kernels" }, roofline: { view: "roofline", by: "kernel" } },
  calls: { table: { view: "runtime" } },
  modules: {
    tree: { view: "modules" },
    flame: { view: "flame", levels: "modules" },
    roofline: { view: "roofline", by: "module" },
  },
  functions: { table: { view: "operators", group: "stack" }, flame: { view: "flame" } },
};
type Rows = keyof typeof ROWS;

/** The rows that an address shows, and how they are drawn. */
export function rowsOf({ view, group, levels, by }: State): [Rows, Drawing] {
  if (view === "kernels") return ["kernels", "table"];
  if (view === "runtime") return ["calls", "table"];
  if (view === "modules") return ["modules", "tree"];
  if (view === "flame")
    return [levels === "operators" || levels === "modules" ? levels : "functions", "flame"];
  if (view === "roofline")
    return [by === "kernel" ? "kernels" : by === "module" ? "modules" : "operators", "roofline"];
  return [group === "stack" ? "functions" : "operators", "table"];
}

/** The tabs of an entry: none where there is nothing to choose from. */
export function tabsOf(entry: Entry, now: State, known: Known): readonly TabGroup[] {
  if (entry.name === "time") return ofTime(now, known);
  const pages = entry.pages.filter((page) => page !== "counters" || known.contents?.includes("counters"));
  if (pages.length < 2) return [];
  const current = now.view ?? "overview";
  const tabs = pages.map((page) => ({
    key: page,
    title: TITLES[page] ?? page,
    to: { view: page },
    isCurrent: page === current,
  }));
  return [{ label: entry.title, tabs }];
}

/** The rows and their drawings; what the filter asks of names goes along. */
function ofTime(now: State, { contents }: Known): readonly TabGroup[] {
  const [rows, drawing] = rowsOf(now);
  const word = firstWord(now.filter, [{ key: "name", kind: "text" }]);
  const filter = word === null ? null : /[\s,"]/.test(word) ? quote(word) : word;
  const has = (one: Rows): boolean =>
    one === rows || one === "operators" || contents === null || contents.includes(one);
  const hasDrawing = (one: Drawing): boolean =>
    one === drawing || one !== "roofline" || contents === null || contents.includes("kernels");
  const all = (Object.keys(ROWS) as Rows[]).filter(has);
  const drawings = (Object.keys(ROWS[rows]) as Drawing[]).filter(hasDrawing);
  return [
    {
      label: texts.by,
      tabs: all.map((one) => ({
        key: one,
        title: texts.rows[one],
        to: {
          group: null,
          levels: null,
          by: null,
          filter,
          ...(ROWS[one][drawing] ?? Object.values(ROWS[one])[0]),
        },
        isCurrent: one === rows,
      })),
    },
    {
      label: texts.as,
      tabs: drawings.map((one) => ({
        key: one,
        title: texts.drawings[one],
        to: { group: null, levels: null, by: null, filter, ...ROWS[rows][one] },
        isCurrent: one === drawing,
      })),
    },
  ];
}
