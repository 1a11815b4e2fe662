// The registry of pages, in the order of the rail. A view of the server without a page here does
// not compile; quality and method are sections of one page. Pages but the first are loaded when they
// are first shown.
import type { FunctionComponent } from "preact";
import type { Views } from "../api/types";
import { t } from "../i18n";
import { Overview } from "./overview";
import type { ChoosingProps } from "./page-props";
import { onDemand } from "./shared/on-demand";
import type { Partial } from "./shared/partial-recording";

export interface Page {
  /** As in the URL. */
  name: string;
  title: string;
  /** `g`, then this letter, goes there. */
  letter: string;
  /** A path on a grid of 16 by 16, drawn as lines. */
  icon: string;
  component: FunctionComponent<ChoosingProps>;
  /** Without the selected trace: a page about all ranks is shown even if that one cannot be read. */
  alone?: FunctionComponent<Alone>;
  /** The recordings without a trace of which it has something to show. */
  ofPartial?: readonly Partial[];
}

type Alone = Pick<ChoosingProps, "selected" | "runs">;
type Entry = Omit<Page, "name">;

const OF_MEMORY: readonly Partial[] = ["snapshot_alone", "memory_timeline_alone"];
const ALL: readonly Partial[] = [...OF_MEMORY, "flight_recorder_alone"];
const Distributed = onDemand(() => import("./distributed").then((page) => page.Distributed));
const History = onDemand(() => import("./history").then((page) => page.History));
const Timeline = onDemand(() => import("./timeline").then((page) => page.Timeline));

/** Views that are sections of the page `recording`. */
type Section = "quality" | "method";

const OF_VIEWS: Record<Exclude<keyof Views, Section>, Entry> = {
  overview: {
    title: t.pageTitles.overview,
    letter: "o",
    component: Overview,
    icon: "M2.5 13.5v-5h3v5zM6.5 13.5v-11h3v11zM10.5 13.5v-7h3v7z",
  },
  advice: {
    title: t.pageTitles.advice,
    letter: "a",
    component: onDemand(() => import("./advice").then((page) => page.Advice)),
    icon: "M5.5 11a4.5 4.5 0 1 1 5 0v2h-5zM6 15h4",
  },
  whatif: {
    title: t.pageTitles.whatif,
    letter: "w",
    component: onDemand(() => import("./whatif").then((page) => page.WhatIf)),
    icon: "M2 12.5h4l2-9 2 9h4M8 3.5V1.5M5.5 6L8 3.5 10.5 6",
  },
  timeline: {
    title: t.pageTitles.timeline,
    letter: "t",
    component: Timeline,
    alone: Timeline,
    ofPartial: ALL,
    icon: "M1.5 2.5h6v2h-6zM5.5 7h8v2h-8zM3.5 11.5h4v2h-4zM10.5 11.5h4v2h-4z",
  },
  operators: {
    title: t.pageTitles.operators,
    letter: "p",
    component: onDemand(() => import("./operators").then((page) => page.Operators)),
    icon: "M2.5 3.5h11M2.5 8h7M2.5 12.5h4",
  },
  kernels: {
    title: t.pageTitles.kernels,
    letter: "k",
    component: onDemand(() => import("./kernels").then((page) => page.Kernels)),
    icon: "M4.5 4.5h7v7h-7zM6.5 1.5v3M9.5 1.5v3M6.5 11.5v3M9.5 11.5v3M1.5 6.5h3M1.5 9.5h3M11.5 6.5h3M11.5 9.5h3",
  },
  runtime: {
    title: t.runtime.title,
    letter: "l",
    component: onDemand(() => import("./runtime").then((page) => page.Runtime)),
    icon: "M1.5 3.5h7v3h-7zM8.5 5h2.5v6M8.5 9.5L11 12l2.5-2.5M7.5 14h7",
  },
  roofline: {
    title: t.rooflineThumbnail.page,
    letter: "r",
    component: onDemand(() => import("./roofline").then((page) => page.Roofline)),
    icon: "M2 2v12h12M4 11l4-5h6M6.5 11.5h.01M10 9h.01",
  },
  memory: {
    title: t.pageTitles.memory,
    letter: "m",
    component: onDemand(() => import("./memory").then((page) => page.Memory)),
    ofPartial: OF_MEMORY,
    icon: "M1.5 13.5v-3h3v-3h3v-4h3v6h4v4z",
  },
  modules: {
    title: t.pageTitles.modules,
    letter: "u",
    component: onDemand(() => import("./modules").then((page) => page.Modules)),
    icon: "M1.5 2.5h5v3h-5zM8.5 8h6v2.5h-6zM8.5 12.5h6M3.5 5.5v8.5h5M3.5 9h5",
  },
  counters: {
    title: t.counters.title,
    letter: "n",
    component: onDemand(() => import("./counters").then((page) => page.Counters)),
    ofPartial: OF_MEMORY,
    icon: "M2.2 12a6.5 6.5 0 1 1 11.6 0M8 10l3-4.5M8 10h.01",
  },
  flame: {
    title: t.pageTitles.flame,
    letter: "f",
    component: onDemand(() => import("./flame").then((page) => page.Flame)),
    icon: "M1.5 2.5h13v3h-13zM1.5 5.5h9v3h-9zM3.5 8.5h5v3h-5zM3.5 11.5h2.5v3H3.5z",
  },
  distributed: {
    title: t.pageTitles.distributed,
    letter: "d",
    component: Distributed,
    alone: Distributed,
    icon: "M8 1.5v4M3 10.5l3.4-3M13 10.5l-3.4-3M6 7.5a2 2 0 1 0 4 0a2 2 0 1 0-4 0M1.5 12a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0M11.1 12a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0",
  },
  diff: {
    title: t.pageTitles.diff,
    letter: "c",
    component: onDemand(() => import("./diff").then((page) => page.Diff)),
    ofPartial: ALL,
    icon: "M4 2v9M1.5 8.5L4 11l2.5-2.5M12 14V5M9.5 7.5L12 5l2.5 2.5M8 1.5v13",
  },
  history: {
    title: t.history.title,
    letter: "h",
    component: History,
    alone: History,
    icon: "M2 2v12h12M4.5 11.5h.01M6.5 9h.01M8.5 10h.01M10.5 5.5h.01M12.5 4.5h.01M4 11.5h5M10 5h4",
  },
};

const OTHERS: Record<string, Entry> = {
  recording: {
    title: t.recording.title,
    letter: "i",
    component: onDemand(() => import("./recording").then((page) => page.Recording)),
    ofPartial: ALL,
    icon: "M8 1.5a6.5 6.5 0 1 0 .01 0zM8 7v4.5M8 4.5v.6",
  },
  sql: {
    title: t.pageTitles.sql,
    letter: "s",
    component: onDemand(() => import("./sql").then((page) => page.Sql)),
    ofPartial: ALL,
    icon: "M2.5 4c0-3 11-3 11 0v8c0 3-11 3-11 0zM2.5 4c0 3 11 3 11 0M2.5 8c0 3 11 3 11 0",
  },
};

export const PAGES: readonly Page[] = Object.entries({ ...OF_VIEWS, ...OTHERS }).map(([name, entry]) => ({
  name,
  ...entry,
}));

/** The page of that name, or the first one. */
export function pageOf(name: string | null): Page {
  return PAGES.find((p) => p.name === name) ?? (PAGES[0] as Page);
}
