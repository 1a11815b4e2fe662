// How a page declares its part of the URL: its keys, how their values are read, and when they are reset.

export interface UrlKey<Value extends string | number = string | number> {
  /** Read a value from the URL; null if it cannot be read. */
  parse(text: string): Value | null;
  /** The keys whose change resets this one. */
  resetBy: readonly string[];
}

export type UrlKeys = Readonly<Record<string, UrlKey>>;

/** The values that keys have in the state; null is the default. */
export type Values<Keys extends UrlKeys> = {
  -readonly [Name in keyof Keys]: (Keys[Name] extends UrlKey<infer Value> ? Value : never) | null;
};

/** What a value depends on, from a choice on the page down to the selected step. */
export const RESET_BY = {
  page: ["view"],
  run: ["view", "run"],
  rank: ["view", "run", "rank"],
  span: ["view", "run", "rank", "span"],
  step: ["view", "run", "rank", "span", "step"],
} as const;

/** A key whose value is any text. By default another page resets it. */
export function text(resetBy: readonly string[] = RESET_BY.page): UrlKey<string> {
  return { parse: (value) => value, resetBy };
}

/** A key whose value is a whole number. */
export function number(resetBy: readonly string[] = RESET_BY.page): UrlKey<number> {
  return { parse: (value) => (/^\d{1,15}$/.test(value) ? Number(value) : null), resetBy };
}

/** The keys of a page with tables. `columns` has the columns that were added or removed, by table:
 * `kernels:launch_ns,-calls;instances:-place`. */
export const TABLE_KEYS = { sort: text(), filter: text(), columns: text() };
