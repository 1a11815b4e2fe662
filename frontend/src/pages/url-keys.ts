// The URL keys of pages, each declared by its page's folder. A page without a line has the keys of
// the first one: those of tables.
import type { UrlKeys, Values } from "../state/url-key";
import type { Views } from "../api/types";
import { ADVICE_KEYS } from "./advice/url-keys";
import { COUNTERS_KEYS } from "./counters/url-keys";
import { DIFF_KEYS } from "./diff/url-keys";
import { DISTRIBUTED_KEYS } from "./distributed/url-keys";
import { FLAME_KEYS } from "./flame/url-keys";
import { HISTORY_KEYS } from "./history/url-keys";
import { KERNELS_KEYS } from "./kernels/url-keys";
import { MEMORY_KEYS } from "./memory/url-keys";
import { MODULES_KEYS } from "./modules/url-keys";
import { OPERATORS_KEYS } from "./operators/url-keys";
import { OVERVIEW_KEYS } from "./overview/url-keys";
import { RECORDING_KEYS } from "./recording/url-keys";
import { ROOFLINE_KEYS } from "./roofline/url-keys";
import { SQL_KEYS } from "./sql/url-keys";
import { TIMELINE_KEYS } from "./timeline/url-keys";
import { WHATIF_KEYS } from "./whatif/url-keys";

export const PAGE_KEYS = {
  overview: OVERVIEW_KEYS,
  advice: ADVICE_KEYS,
  whatif: WHATIF_KEYS,
  timeline: TIMELINE_KEYS,
  operators: OPERATORS_KEYS,
  kernels: KERNELS_KEYS,
  roofline: ROOFLINE_KEYS,
  memory: MEMORY_KEYS,
  modules: MODULES_KEYS,
  counters: COUNTERS_KEYS,
  flame: FLAME_KEYS,
  distributed: DISTRIBUTED_KEYS,
  diff: DIFF_KEYS,
  history: HISTORY_KEYS,
  sql: SQL_KEYS,
  recording: RECORDING_KEYS,
} satisfies Partial<Record<keyof Views | "sql" | "recording", UrlKeys>>;

/** Pages of older links and entries of the navigation, by their names: what they open. */
export const OLD_PAGES = {
  quality: { view: "recording", section: "quality" },
  method: { view: "recording", section: "method" },
  about: { view: "recording", section: "about" },
  summary: { view: "overview" },
  issues: { view: "advice" },
  time: { view: "operators" },
  ranks: { view: "distributed" },
  compare: { view: "history" },
  runs: { view: "history" },
} as const;

type Page = keyof typeof PAGE_KEYS;
type OneOf<Name extends Page> = (values: Values<(typeof PAGE_KEYS)[Name]>) => void;
/** The keys of all pages together. */
type AllValues = { [Name in Page]: OneOf<Name> }[Page] extends (values: infer All) => void ? All : never;

declare module "../state/url" {
  // The state itself lies below the pages and names none of their keys.
  interface PageState extends AllValues {}
}
