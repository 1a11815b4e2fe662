// The registry of pages, each a tab of an entry of the navigation (`entries.ts`).
// A view of the server without a page here does not compile; quality, method, serving and compilation
// are sections of pages. Pages but the first are loaded when they are first shown.
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
  component: FunctionComponent<ChoosingProps>;
  /** Without the selected trace: a page about all ranks is shown even if that one cannot be read. */
  alone?: FunctionComponent<Alone>;
  /** The recordings without a trace of which it has something to show. */
  ofPartial?: readonly Partial[];
}

type Alone = Pick<ChoosingProps, "selected" | "runs">;
type Entry = Omit<Page, "name">;

const OF_MEMORY: readonly Partial[] = ["snapshot_alone", "memory_timeline_alone"];
const ALL: readonly Partial[] = [...OF_MEMORY, "flight_recorder_alone", "no_events", "nothing_read"];
const Distributed = onDemand(() => import("./distributed").then((page) => page.Distributed));
const History = onDemand(() => import("./history").then((page) => page.History));
const Timeline = onDemand(() => import("./timeline").then((page) => page.Timeline));

/** Views that are sections of the pages `recording` and `overview`. */
type Section = "quality" | "method" | "serving" | "compilation";

const OF_VIEWS: Record<Exclude<keyof Views, Section>, Entry> = {
  overview: {
    title: t.pageTitles.overview,
    letter: "o",
    component: Overview,
  },
  advice: {
    title: t.pageTitles.advice,
    letter: "a",
    component: onDemand(() => import("./advice").then((page) => page.Advice)),
  },
  whatif: {
    title: t.pageTitles.whatif,
    letter: "w",
    component: onDemand(() => import("./whatif").then((page) => page.WhatIf)),
  },
  timeline: {
    title: t.pageTitles.timeline,
    letter: "t",
    component: Timeline,
    alone: Timeline,
    ofPartial: ALL,
  },
  operators: {
    title: t.pageTitles.operators,
    letter: "p",
    component: onDemand(() => import("./operators").then((page) => page.Operators)),
  },
  kernels: {
    title: t.pageTitles.kernels,
    letter: "k",
    component: onDemand(() => import("./kernels").then((page) => page.Kernels)),
  },
  runtime: {
    title: t.runtime.title,
    letter: "l",
    component: onDemand(() => import("./runtime").then((page) => page.Runtime)),
  },
  roofline: {
    title: t.rooflineThumbnail.page,
    letter: "r",
    component: onDemand(() => import("./roofline").then((page) => page.Roofline)),
  },
  memory: {
    title: t.pageTitles.memory,
    letter: "m",
    component: onDemand(() => import("./memory").then((page) => page.Memory)),
    ofPartial: OF_MEMORY,
  },
  modules: {
    title: t.pageTitles.modules,
    letter: "u",
    component: onDemand(() => import("./modules").then((page) => page.Modules)),
  },
  counters: {
    title: t.counters.title,
    letter: "n",
    component: onDemand(() => import("./counters").then((page) => page.Counters)),
    ofPartial: OF_MEMORY,
  },
  flame: {
    title: t.pageTitles.flame,
    letter: "f",
    component: onDemand(() => import("./flame").then((page) => page.Flame)),
  },
  distributed: {
    title: t.pageTitles.distributed,
    letter: "d",
    component: Distributed,
    alone: Distributed,
  },
  diff: {
    title: t.pageTitles.diff,
    letter: "c",
    component: onDemand(() => import("./diff").then((page) => page.Diff)),
    ofPartial: ALL,
  },
  history: {
    title: t.history.title,
    letter: "h",
    component: History,
    alone: History,
  },
};

const OTHERS: Record<string, Entry> = {
  recording: {
    title: t.recording.title,
    letter: "i",
    component: onDemand(() => import("./recording").then((page) => page.Recording)),
    ofPartial: ALL,
  },
  sql: {
    title: t.pageTitles.sql,
    letter: "s",
    component: onDemand(() => import("./sql").then((page) => page.Sql)),
    ofPartial: ALL,
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
